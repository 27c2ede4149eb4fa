#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Panics of Rust and exceptions of C++ in large packages, in several interpreters at once."""

import os
import shutil
import sys
import tempfile

from report import Report
from harness import GORGON, PYTHON3, run

COPIES = 4

# A month that no calendar has: chrono panics, below cryptography's Rust code, below Python.
PANIC = """
import datetime, threading
from cryptography import x509
from cryptography.x509.oid import NameOID
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

class Impossible(datetime.datetime):
    month = 13

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
seen, months = set(), []

def sign(day):
    builder = x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key(),
                                      serial_number=1, not_valid_before=day)
    return builder.not_valid_after(datetime.datetime(2031, 1, 1)).sign(key, hashes.SHA256())

def panic():
    for _ in range(50):
        try:
            sign(Impossible(2030, 1, 1))
        except BaseException as error:
            seen.add((type(error).__module__, type(error).__name__, str(error)))
        months.append(sign(datetime.datetime(2030, 4, 1)).not_valid_before.month)

threads = [threading.Thread(target=panic) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(seen), sum(months))
"""
PANICS = f"{[('pyo3_runtime', 'PanicException', 'No such local time')]} {4 * 50 * 4}"

# Without Python in between: Rust catches the panic itself, or it ends a thread of Rust's. Values with a destructor
# lie in frames and in thread-local storage.
RUST = r"""
use std::panic::{catch_unwind, resume_unwind, set_hook};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

static DROPPED: AtomicU32 = AtomicU32::new(0);
struct Counted;
impl Drop for Counted { fn drop(&mut self) { DROPPED.fetch_add(1, SeqCst); } }
thread_local! { static LOCAL: Counted = Counted; }

fn dive(n: u32) {
    let _frame = Counted;
    if n == 0 { panic!("bottom") }
    dive(n - 1);
}

#[no_mangle]
pub extern "C" fn quiet() { set_hook(Box::new(|_| {})); }

#[no_mangle]
pub extern "C" fn caught(depth: u32) -> u32 {
    let again = catch_unwind(|| match catch_unwind(|| dive(depth)) {
        Err(payload) => resume_unwind(payload),
        Ok(()) => (),
    });
    (again.unwrap_err().downcast_ref::<&str>() == Some(&"bottom")) as u32
}

#[no_mangle]
pub extern "C" fn threads(count: u32) -> u32 {
    let all: Vec<_> = (0..count).map(|_| std::thread::spawn(|| { LOCAL.with(|_| ()); dive(3) })).collect();
    all.into_iter().map(|t| t.join().is_err() as u32).sum()
}

#[no_mangle]
pub extern "C" fn dropped() -> u32 { DROPPED.swap(0, SeqCst) }
"""

RUST_PROGRAM = """
import ctypes, sys
rust = ctypes.CDLL(sys.argv[1])
rust.quiet()
print(rust.caught(40), rust.dropped(), rust.threads(8), rust.dropped(), sum(rust.caught(1) for _ in range(1000)))
"""
# Frames of a dive of n are n + 1; a thread adds its thread-local.
RUST_NUMBERS = f"1 41 8 {8 * (4 + 1)} 1000"

TORCH = """
import torch
failures = set()
for _ in range(200):
    try:
        torch.ones(2, 2) @ torch.ones(3, 3)
    except RuntimeError as error:
        failures.add(str(error).splitlines()[0])

def hook(gradient):
    raise KeyError("from a hook")

x = torch.ones(3, requires_grad=True)
x.register_hook(hook)
try:
    (x * 2).sum().backward()
except KeyError as error:
    failures.add(error.args[0])
y = torch.ones(3, requires_grad=True)
(y * y).sum().backward()
print(sorted(failures), y.grad.tolist())
"""


def in_copies(report, case, program, expected, *args, copies=COPIES):
    result = run(GORGON, "run", "-n", copies, "-c", program, *args, env={"RUST_BACKTRACE": "0"})
    lines = result.stdout.splitlines()
    report.check(f"{case}, {copies} interpreters", lines == [str(expected)] * copies and result.returncode == 0,
                 f"{copies} times {expected}", f"{lines.count(str(expected))} times that, status {result.returncode}",
                 result.stdout + result.stderr)


def frames_below_python(text):
    """How many of the first backtrace's frames come before the first of CPython's."""
    lines = text.split("stack backtrace:\n", 1)[1].splitlines()
    names = [line.split(" - ", 1)[1] for line in lines if " - " in line]
    return names.index("cfunction_call")


def check_backtrace(report):
    """Rust's own unwinder and its reader of DWARF find private code through dl_iterate_phdr()."""
    commands = [[PYTHON3], [GORGON, "run", "-n", "1"]]
    program = PANIC.replace("range(50)", "range(1)").replace("range(4)", "range(1)")
    counts = [frames_below_python(run(*command, "-c", program, env={"RUST_BACKTRACE": "full"}).stderr)
              for command in commands]
    report.check("frames of a panic's backtrace", counts[0] == counts[1] > 5, f"{counts[0]}, then cfunction_call",
                 f"{counts[1]}, then cfunction_call")


def check_rust(report):
    if not shutil.which("rustc"):
        report.skip("a panic without Python", "rustc is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "panics.rs"), os.path.join(folder, "libpanics.so")
        with open(source, "w") as file:
            file.write(RUST)
        run("rustc", "-O", "--crate-type=cdylib", "--edition=2021", "-o", library, source).check_returncode()
        in_copies(report, "a panic without Python", RUST_PROGRAM, RUST_NUMBERS, library)


def main():
    report = Report("Panics of Rust, exceptions of C++ in large packages")
    in_copies(report, "a panic below Python (cryptography), 200 on 4 threads", PANIC, PANICS)
    check_backtrace(report)
    check_rust(report)
    expected = "['from a hook', 'mat1 and mat2 shapes cannot be multiplied (2x2 and 3x3)'] [2.0, 2.0, 2.0]"
    in_copies(report, "C++ exceptions both ways (torch)", TORCH, expected, copies=2)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
