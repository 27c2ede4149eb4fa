// SPDX-License-Identifier: MIT
// A host in Rust: three interpreters with numpy, which four threads call, while the main thread gets an exception,
// interrupts a runaway, reaches a limit of memory and replaces one. "host SECONDS" does that again and again. Prints
//
//	exception: ZeroDivisionError
//	interrupt: KeyboardInterrupt
//	limit: MemoryError
//	replaced: 14
//	threads: all sums are right
//
// docs/embedding.md has the rules for hosts in Rust.
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::RwLock;
use std::time::{Duration, Instant};
use std::{env, mem, ptr, thread};

type Error = *mut c_void;
type Handle = *mut c_void;

// A structure that begins with its size may end where the host has nothing more to say.
#[repr(C)]
struct InterpOpts {
    size: usize,
    python: *const c_char,
    ns: *const c_void,
    timing: bool,
    isolate: c_int,
    files: c_int,
    end: c_int,
    memory_limit: u64,
}

// The second and the third member are the largest member of a union: a list's address and number of items. An integer lies
// where the address does.
#[repr(C)]
struct Value {
    kind: c_int,
    number: i64,
    count: usize,
}

const INT: c_int = 2;
const LIST: c_int = 6;
const BUSY: c_int = 9;

#[link(name = "gorgon")]
extern "C" {
    fn gorgon_interp_create(opts: *const InterpOpts, ret: *mut Handle) -> Error;
    fn gorgon_interp_start(interp: Handle, opts: *const c_void) -> Error;
    fn gorgon_interp_run_file(interp: Handle, path: *const c_char) -> Error;
    fn gorgon_interp_interrupt(interp: Handle) -> Error;
    fn gorgon_interp_stop_within(interp: Handle, limit_ms: c_uint) -> Error;
    fn gorgon_interp_destroy(interp: Handle) -> Error;
    fn gorgon_interp_call(interp: Handle, module: *const c_char, function: *const c_char, args: *const Value,
                          kwargs: *const Value, ret: *mut Value) -> Error;
    fn gorgon_error_code(err: Error) -> c_int;
    fn gorgon_error_message(err: Error) -> *const c_char;
    fn gorgon_error_exception(err: Error) -> *const *const c_char; // the first is the type
    fn gorgon_error_destroy(err: Error);
}

// The exception of a call, or what else went wrong, as the error of a Result.
fn check(err: Error) -> Result<(), String> {
    if err.is_null() {
        return Ok(());
    }
    unsafe {
        let exception = gorgon_error_exception(err).as_ref();
        let text = CStr::from_ptr(*exception.unwrap_or(&gorgon_error_message(err))).to_string_lossy().into_owned();
        let ret = if gorgon_error_code(err) == BUSY { "busy".into() } else { text };
        gorgon_error_destroy(err);
        Err(ret)
    }
}

// The lock keeps an interpreter from being destroyed while a thread uses it. Any thread may call.
struct Interpreter(RwLock<Handle>);
unsafe impl Send for Interpreter {}
unsafe impl Sync for Interpreter {}

fn begin() -> Result<Handle, String> {
    let opts = InterpOpts { size: mem::size_of::<InterpOpts>(), memory_limit: 256 << 20, ..unsafe { mem::zeroed() } };
    let mut handle = ptr::null_mut();
    check(unsafe { gorgon_interp_create(&opts, &mut handle) })?;
    check(unsafe { gorgon_interp_start(handle, ptr::null()) })?;
    check(unsafe { gorgon_interp_run_file(handle, b"work.py\0".as_ptr().cast::<c_char>()) }).map(|_| handle)
}

impl Interpreter {
    fn call(&self, function: &str, argument: i64) -> Result<i64, String> {
        let (name, handle) = (CString::new(function).unwrap(), self.0.read().unwrap());
        let item = Value { kind: INT, number: argument, count: 0 };
        let args = Value { kind: LIST, number: &item as *const Value as i64, count: 1 };
        let mut ret = Value { kind: 0, number: 0, count: 0 };
        check(unsafe { gorgon_interp_call(*handle, ptr::null(), name.as_ptr(), &args, ptr::null(), &mut ret) })?;
        assert_eq!(ret.kind, INT); // other values are given back with gorgon_value_deinit()
        Ok(ret.number)
    }

    // Calls that still run when half of the ten seconds have passed are interrupted; later calls are refused.
    fn replace(&self) {
        check(unsafe { gorgon_interp_stop_within(*self.0.read().unwrap(), 10000) }).unwrap();
        let mut handle = self.0.write().unwrap();
        check(unsafe { gorgon_interp_destroy(*handle) }).unwrap();
        *handle = begin().unwrap();
    }
}

fn work(interpreters: &[Interpreter], done: &AtomicBool) {
    for n in (1000i64..).take_while(|_| !done.load(Ordering::Relaxed)) {
        match interpreters[n as usize % 3].call("sum_of_squares", n) {
            Ok(sum) => assert_eq!(sum, (n - 1) * n * (2 * n - 1) / 6),
            // An interrupt, the limit and the end of an interpreter meet whoever is in it.
            Err(text) => assert!(["KeyboardInterrupt", "MemoryError", "busy"].contains(&&text[..]), "{text}"),
        }
    }
}

fn main() {
    let seconds = env::args().nth(1).map_or(0, |text| text.parse().unwrap());
    let interpreters: Vec<_> = (0..3).map(|_| Interpreter(RwLock::new(begin().unwrap()))).collect();
    let (start, done) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| work(&interpreters, &done))));
        for round in 0.. {
            let (one, ended) = (&interpreters[round % 3], AtomicBool::new(false));
            assert_eq!(one.call("divide", 1), Err("ZeroDivisionError".into()));
            // An interrupt meets only a call that has begun: so it is repeated.
            thread::scope(|inner| {
                inner.spawn(|| while !ended.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(20));
                    check(unsafe { gorgon_interp_interrupt(*one.0.read().unwrap()) }).unwrap();
                });
                assert_eq!(one.call("run_away", 0), Err("KeyboardInterrupt".into()));
                ended.store(true, Ordering::Relaxed);
            });
            assert_eq!(one.call("eat", 0), Err("MemoryError".into()));
            one.replace();
            assert_eq!(one.call("sum_of_squares", 4), Ok(14));
            done.store(start.elapsed() >= Duration::from_secs(seconds), Ordering::Relaxed);
            if done.load(Ordering::Relaxed) {
                break;
            }
        }
    });
    println!("exception: ZeroDivisionError\ninterrupt: KeyboardInterrupt\nlimit: MemoryError\nreplaced: 14\nthreads: all sums are right");
}
