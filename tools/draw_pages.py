"""Draws the timeline page of a kernel, light and dark, as a browser shows it.

python tools/draw_pages.py docs/tutorials

Writes timeline_light.webp and timeline_dark.webp to the folder. It needs Debian's chromium
(tools/install_browser.sh).
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

import neuron_sim
import numpy as np
from neuron_sim.sweep.point import loaded_module
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "models/nki/conv2d.py"
SIZE = {"width": 1280, "height": 760}
THEMES = ("light", "dark")


def write_page(path: Path) -> None:
    """The timeline of a fused convolution on trn2."""
    image, filters = (
        np.zeros((1, 256, 34, 18), np.float32),
        np.zeros((256, 256, 3, 3), np.float32),
    )
    kernel = loaded_module(str(KERNEL), KERNEL.stat().st_mtime_ns).fused_conv2d_maxpool
    traced = neuron_sim.trace(kernel, image, filters, filters[:, 0, 0, 0], 2, architecture="trn2")
    traced.write_timeline(path)


def screenshot(browser: Browser, page_file: Path, theme: str) -> bytes:
    """The page as PNG, with the table of the kernel's lines."""
    page = browser.new_page(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.click("#tab-lines")
    picture = page.screenshot()
    page.close()
    return picture


def main(folder: Path) -> None:
    """Writes the pictures of both themes."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("draw_pages: install chromium first: tools/install_browser.sh")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        page_file = Path(scratch) / "page.html"
        write_page(page_file)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for theme in THEMES:
            picture = Image.open(io.BytesIO(screenshot(browser, page_file, theme)))
            picture.convert("RGB").save(folder / f"timeline_{theme}.webp", quality=90, method=6)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
