# packages: python3-fitz
import fitz

document = fitz.open()
page = document.new_page(width=200, height=100)
page.insert_text((20, 50), "snakes in a process")
data = document.tobytes()
document = fitz.open("pdf", data)
page = document[0]
assert page.get_text().strip() == "snakes in a process"
pixels = page.get_pixmap()
assert (pixels.width, pixels.height) == (200, 100) and min(pixels.samples) < 100 < max(pixels.samples)
assert len(page.search_for("snakes")) == 1
