//go:build !unix

package main

import "errors"

func startDaemon() (pid int, err error) { return 0, errors.New("no daemons here") }
