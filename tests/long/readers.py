# SPDX-License-Identifier: MIT
"""Files before all that reads them: the fuzz targets, which have the address and undefined behaviour sanitizers, and both linkers."""

import os
import re
import subprocess

import harness


def read(target, paths, folder):
    """[(path, report)] for each file with which the fuzz target does not end well. @folder is for what it writes."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"))
    command = [os.path.join(harness.BUILD, "fuzz", f"fuzz_{target}"), "-timeout=60", "-rss_limit_mb=4096", f"-artifact_prefix={folder}/"]
    found = []
    while paths:
        result = subprocess.run([*command, *paths], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                errors="replace", check=False)
        if not result.returncode:
            break
        # The files behind the one that ended the target are still to be read.
        running = re.findall(r"^Running: (.*)$", result.stderr, re.M)
        last = paths.index(running[-1]) if running else len(paths) - 1
        found.append((paths[last], result.stderr[-4000:]))
        paths = paths[last + 1:]
    return found


def compare(paths, folder):
    """Opens the files under the system's linker and ours, each in a child. Returns tests/fuzz/differ.c's line of counts, the
    files that the system's linker refuses and that crash under ours, and [(path, who, why)] of those that one accepts and the other
    refuses: who accepts, "ours" or "the system's", and why the other does not."""
    result = harness.run(os.path.join(harness.BUILD, "differ"), *paths, cwd=folder, timeout=3600)
    counts = re.search(r"^differ: (.*)$", result.stderr, re.M)
    if not counts:
        raise RuntimeError(f"differ: status {result.returncode}\n{result.stderr}")
    alone = re.findall(r"^(.*): accepted by (.*) alone: (.*)$", result.stderr, re.M)
    return counts[1], sorted(set(result.stderr.splitlines()) & set(paths)), alone
