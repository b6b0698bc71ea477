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


def test_contrast_is_normalised_to_a_norm() -> None:
    images = np.random.default_rng(0).random((5, 4, 4, 3)).astype(np.float32)
    found = data.contrast_normalised(images).reshape(5, -1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 55.0, rtol=1e-5)
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-4)


def test_digits_are_split_without_overlap() -> None:
    split = data.digits()
    assert [len(part) for part in (split.train, split.validation, split.test)] == [1297, 250, 250]
    assert split.train.x.min() >= 0.0 and split.train.x.max() == 1.0
