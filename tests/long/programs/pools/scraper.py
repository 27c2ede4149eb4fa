# SPDX-License-Identifier: MIT
"""A crawler of web pages: calls that wait for the network, a queue of what they find, a lock for what they print, an event that stops
them."""

import http.server
import queue
import re
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import requests

stop, lock = threading.Event(), threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    """Page n names the pages 2n and 2n + 1."""

    def do_GET(self):
        n = int(self.path[1:] or 1)
        self.send_response(200 if n < 32 else 404)
        self.end_headers()
        self.wfile.write(f"<title>page {n}</title><a href='/{2 * n}'>left</a><a href='/{2 * n + 1}'>right</a>".encode())

    def log_message(self, *args):
        """No lines of its own."""


def fetch(base, path, found):
    if stop.is_set():
        return None
    page = requests.get(base + path, timeout=60)
    page.raise_for_status()
    for link in re.findall(r"href='(/\d+)'", page.text):
        found.put(link)
    with lock:
        print(end="", flush=True)
    return re.search("<title>(.*)</title>", page.text)[1]


def crawl(pool, base):
    found, seen, titles, errors = queue.Queue(), {"/1"}, [], []
    futures = {pool.submit(fetch, base, "/1", found)}
    while futures:
        for future in as_completed(futures):
            try:
                titles.append(future.result())
            except requests.HTTPError as error:
                errors.append(error.response.status_code if error.response is not None else str(error)[:3])
        futures = set()
        while not found.empty():
            link = found.get()
            if link not in seen:
                seen.add(link)
                futures.add(pool.submit(fetch, base, link, found))
    return sorted(titles, key=lambda title: int(title.split()[1])), len(errors)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with ThreadPoolExecutor(4) as pool:
        titles, errors = crawl(pool, f"http://127.0.0.1:{server.server_port}")
        print(len(titles), titles[0], titles[-1], errors)
        stop.set()
        print(pool.submit(fetch, "", "", None).result())
    server.shutdown()
