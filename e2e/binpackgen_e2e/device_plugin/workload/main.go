// Command workload stands in for a job: it says which devices it was given, works for a while, and succeeds.
package main

import (
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("want one argument, how long to work, as 5s")
	}
	work, err := time.ParseDuration(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("devices:", os.Getenv("NVIDIA_VISIBLE_DEVICES"))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	select {
	case <-time.After(work):
		fmt.Println("done")
	case <-stop:
		os.Exit(143)
	}
}
