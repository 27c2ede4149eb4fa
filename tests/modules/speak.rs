// SPDX-License-Identifier: MIT
// A library in Rust. The tests use speak_rs.s, which tests/modules/modules.mk says how to make.
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
pub static mut SPOKEN: i64 = 0;
pub struct Word {
    pub length: i64,
    pub loud: bool,
}
#[inline(never)]
pub fn speak(word: &Word) -> i64 {
    let again = word.length + word.loud as i64;
    unsafe {
        SPOKEN += 1; // rust speaks
        again + SPOKEN
    }
}
#[no_mangle]
pub extern "C" fn speak_rust(length: i64) -> i64 {
    speak(&Word { length, loud: length > 2 })
}
