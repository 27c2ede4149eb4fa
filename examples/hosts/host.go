// SPDX-License-Identifier: MIT
// A host in Go: three interpreters with numpy, which four goroutines call, while the main goroutine gets an exception,
// interrupts a runaway, reaches a limit of memory and replaces an interpreter. Go preempts goroutines by SIGURG and
// collects garbage meanwhile. "host SECONDS" does that again and again. Prints
//
//	exception: ZeroDivisionError
//	interrupt: KeyboardInterrupt
//	limit: MemoryError
//	replaced: 14
//	goroutines: all sums are right
//
// docs/embedding.md has the rules for hosts in Go.
package main

/*
#cgo pkg-config: libgorgon
#include <gorgon.h>

static struct gorgon_error *begin(struct gorgon_interp **ret)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 256 << 20};
	struct gorgon_error *err = gorgon_interp_create(&opts, ret);

	err = err ?: gorgon_interp_start(*ret, NULL);
	return err ?: gorgon_interp_run_file(*ret, "work.py");
}

static struct gorgon_error *call(struct gorgon_interp *interp, _GoString_ function, int64_t argument, int64_t *ret)
{
	struct gorgon_value item = {.kind = GORGON_VALUE_INT, .integer = argument}, result = {.kind = GORGON_VALUE_NONE};
	const struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};
	struct gorgon_error *err = gorgon_interp_call(interp, NULL, _GoStringPtr(function), &args, NULL, &result);

	*ret = result.kind == GORGON_VALUE_INT ? result.integer : 0;
	gorgon_value_deinit(&result);
	return err;
}
*/
import "C"

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The lock keeps an interpreter from being destroyed while a goroutine uses it.
type interpreter struct {
	sync.RWMutex
	handle *C.struct_gorgon_interp
}

// The exception of a call, or what else went wrong; "" for nothing.
func text(err *C.struct_gorgon_error) string {
	defer C.gorgon_error_destroy(err)
	if exception := C.gorgon_error_exception(err); exception != nil {
		return C.GoString(exception._type)
	} else if C.gorgon_error_code(err) == C.GORGON_ERROR_BUSY {
		return "busy"
	} else if err != nil {
		return C.GoString(C.gorgon_error_message(err))
	}
	return ""
}

func expect(expected, seen string) {
	if expected != seen {
		panic(seen + " in place of " + expected)
	}
}

func (i *interpreter) call(function string, argument int64) (int64, string) {
	i.RLock()
	defer i.RUnlock()
	var ret C.int64_t
	err := C.call(i.handle, function+"\x00", C.int64_t(argument), &ret) // the byte ends C's string
	return int64(ret), text(err)
}

// Calls that still run when half of the ten seconds have passed are interrupted; later calls are refused.
func (i *interpreter) replace() {
	expect("", text(C.gorgon_interp_stop_within(i.handle, 10000)))
	i.Lock()
	defer i.Unlock()
	expect("", text(C.gorgon_interp_destroy(i.handle)))
	expect("", text(C.begin(&i.handle)))
}

// An interrupt meets only a call that has begun: so it is repeated.
func (i *interpreter) interruptUntil(ended chan bool) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
			expect("", text(C.gorgon_interp_interrupt(i.handle)))
		}
	}
}

func work(interpreters []interpreter, done *atomic.Bool, ended *sync.WaitGroup) {
	for n := int64(1000); !done.Load(); n++ {
		sum, err := interpreters[rand.Intn(len(interpreters))].call("sum_of_squares", n)
		// An interrupt, the limit and the end of an interpreter meet whoever is in it.
		if err != "KeyboardInterrupt" && err != "MemoryError" && err != "busy" {
			expect(fmt.Sprint((n-1)*n*(2*n-1)/6), fmt.Sprint(sum, err))
		}
	}
	ended.Done()
}

func main() {
	// The thread that starts interpreters is their main thread. It may not end, nor run other goroutines.
	runtime.LockOSThread()
	interpreters := make([]interpreter, 3)
	for i := range interpreters {
		expect("", text(C.begin(&interpreters[i].handle)))
	}
	var done atomic.Bool
	var workers sync.WaitGroup
	workers.Add(4)
	for w := 0; w < 4; w++ {
		go work(interpreters, &done, &workers)
	}
	seconds, _ := strconv.Atoi(append(os.Args, "0")[1])
	for start, round := time.Now(), 0; round == 0 || time.Since(start) < time.Duration(seconds)*time.Second; round++ {
		one := &interpreters[round%3]
		_, exception := one.call("divide", 1)
		ended := make(chan bool)
		go one.interruptUntil(ended)
		_, interrupt := one.call("run_away", 0)
		ended <- true
		_, limit := one.call("eat", 0)
		one.replace()
		sum, err := one.call("sum_of_squares", 4)
		runtime.GC()
		expect("ZeroDivisionError KeyboardInterrupt MemoryError 14", fmt.Sprint(exception, " ", interrupt, " ", limit, " ", sum, err))
	}
	done.Store(true)
	workers.Wait()
	fmt.Print("exception: ZeroDivisionError\ninterrupt: KeyboardInterrupt\nlimit: MemoryError\nreplaced: 14\ngoroutines: all sums are right\n")
}
