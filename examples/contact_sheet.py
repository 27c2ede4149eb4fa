# SPDX-License-Identifier: MIT
"""Small pictures of all pictures in a folder, on one sheet: a batch for as many processors as there are.

    pip install pillow numpy gorgon-interpreters
    python3 contact_sheet.py FOLDER SHEET.png

Pillow decodes under its interpreter's GIL in large part, and what is done with each pixel in Python is under it
altogether. Workers are interpreters with a GIL each. What they make are arrays, which come here without a copy, as from a
thread; with ProcessPoolExecutor, for which this program is the same but for the import, each crosses by a pipe."""

import math
import os
import sys

import numpy
from PIL import Image, ImageOps, UnidentifiedImageError

from gorgon import InterpreterPoolExecutor

SIZE = 128


def small(path):
    """(the picture, which is SIZE by SIZE with a grey border; how light it is), or why there is none."""
    try:
        with Image.open(path) as image:
            image = ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, UnidentifiedImageError) as error:
        return f"{os.path.basename(path)}: {error}", 0.0
    image = ImageOps.contain(image, (SIZE, SIZE))
    # Perceived lightness by CIE 1976, of the mean of each channel in linear light.
    level = numpy.asarray(image) / 255
    linear = numpy.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    pixels = numpy.array(ImageOps.pad(image, (SIZE, SIZE), color=(128, 128, 128)))
    light = float(linear.mean(axis=(0, 1)) @ (0.2126, 0.7152, 0.0722))
    return pixels, 116 * light ** (1 / 3) - 16 if light > 0.008856 else 903.3 * light


def main(folder, sheet):
    paths = sorted(entry.path for entry in os.scandir(folder) if entry.is_file())
    with InterpreterPoolExecutor(thread_name_prefix="pictures") as pool:
        results = list(pool.map(small, paths, chunksize=4))
    for problem in (pixels for pixels, _ in results if isinstance(pixels, str)):
        print(problem, file=sys.stderr)
    found = sorted(((light, path, pixels) for path, (pixels, light) in zip(paths, results) if not isinstance(pixels, str)),
                   key=lambda each: each[:2])
    columns = max(1, math.isqrt(len(found) - 1) + 1) if found else 1
    canvas = numpy.full((max(1, -(-len(found) // columns)) * SIZE, columns * SIZE, 3), 255, dtype=numpy.uint8)
    for number, (_, _, pixels) in enumerate(found):  # from dark to light
        row, column = divmod(number, columns)
        canvas[row * SIZE:(row + 1) * SIZE, column * SIZE:(column + 1) * SIZE] = pixels
    Image.fromarray(canvas).save(sheet)
    for light, path, _ in found:
        print(f"{light:5.1f} {os.path.basename(path)}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: contact_sheet.py FOLDER SHEET.png")
    main(*sys.argv[1:])
