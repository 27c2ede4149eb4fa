// SPDX-License-Identifier: MIT
// A web service in Go whose customers bring plug-ins in Python:
//
//	service FOLDER
//
// FOLDER/NAME.py is the plug-in of the customer NAME, and has an interpreter of its own. "POST /NAME", with an order in
// JSON, is answered with what handle(order) returns. The service prints the port of 127.0.0.1 on which it listens. A
// plug-in that raises costs its customer an answer (500), one that needs longer than a second is interrupted (504), one
// that holds more than 256 MiB has a MemoryError (500): other customers have nothing of that. A plug-in that does not
// load is said, and left out. SIGTERM ends the service when the requests that run have their answers.
package main

/*
#cgo pkg-config: libgorgon
#include <stdlib.h>
#include <gorgon.h>

static struct gorgon_error *begin(const char *path, struct gorgon_interp **ret)
{
	static const char call[] = "import json\ndef answer(text): return json.dumps(handle(json.loads(text)))\n";
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 256 << 20};
	struct gorgon_error *err = gorgon_interp_create(&opts, ret);

	err = err ?: gorgon_interp_start(*ret, NULL);
	err = err ?: gorgon_interp_run_file(*ret, path);
	return err ?: gorgon_interp_run_string(*ret, call, NULL);
}

static struct gorgon_error *answer(struct gorgon_interp *interp, const void *order, size_t size, struct gorgon_value *ret)
{
	struct gorgon_value text = {.kind = GORGON_VALUE_STRING, .text = {order, size}};
	const struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&text, 1}};

	return gorgon_interp_call(interp, NULL, "answer", &args, NULL, ret);
}

static const char *text_of(const struct gorgon_value *value)
{
	return value->text.data;
}
*/
import "C"

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const limit = time.Second // of an answer

// One call at a time, so that an interrupt meets the call that it is for. Customers do not wait for each other.
type customer struct {
	sync.Mutex
	interp *C.struct_gorgon_interp
}

func take(err *C.struct_gorgon_error) error {
	if err == nil {
		return nil
	}
	defer C.gorgon_error_destroy(err)
	return fmt.Errorf("%s", C.GoString(C.gorgon_error_message(err)))
}

func load(path string) (*C.struct_gorgon_interp, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var interp *C.struct_gorgon_interp
	err := take(C.begin(name, &interp))
	if err != nil && interp != nil {
		take(C.gorgon_interp_destroy(interp))
	}
	return interp, err
}

// An interrupt meets only a call that has begun: so it is repeated until the call has returned.
func (c *customer) endAtLimit(returned, late chan bool) {
	for is_late, wait := false, limit; ; is_late, wait = true, 20*time.Millisecond {
		select {
		case <-returned:
			late <- is_late
			return
		case <-time.After(wait):
			take(C.gorgon_interp_interrupt(c.interp))
		}
	}
}

func (c *customer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	order, err := io.ReadAll(http.MaxBytesReader(w, request.Body, 1<<20))
	if err != nil || len(order) == 0 {
		http.Error(w, "expected an order in JSON, at most 1 MiB", http.StatusBadRequest)
		return
	}
	c.Lock()
	defer c.Unlock()
	returned, late := make(chan bool), make(chan bool)
	go c.endAtLimit(returned, late)
	var value C.struct_gorgon_value
	err = take(C.answer(c.interp, unsafe.Pointer(&order[0]), C.size_t(len(order)), &value))
	returned <- true
	if <-late && err != nil {
		http.Error(w, fmt.Sprintf("no answer within %v", limit), http.StatusGatewayTimeout)
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	} else {
		io.WriteString(w, C.GoString(C.text_of(&value))+"\n")
	}
	C.gorgon_value_deinit(&value)
}

func main() {
	// The thread that starts interpreters is their main thread. It may not end, nor run other goroutines.
	runtime.LockOSThread()
	files, _ := filepath.Glob(filepath.Join(os.Args[1], "*.py"))
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".py")
		interp, err := load(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "service: %s is left out: %v\n", name, err)
			continue
		}
		http.Handle("/"+name, &customer{interp: interp})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	var server http.Server
	go server.Serve(listener)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	server.Shutdown(context.Background())
}
