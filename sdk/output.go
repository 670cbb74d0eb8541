package sdk

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

var handshakeStart = regexp.MustCompile(`\d+\|\d+\|(unix|tcp)\|`)

// handshakeFilter drops what a plugin prints before its handshake line.
type handshakeFilter struct {
	in    io.ReadCloser
	found func(line string)
	line  []byte
	past  bool
	ready bytes.Buffer
}

func (h *handshakeFilter) Read(b []byte) (int, error) {
	for !h.past {
		var chunk [512]byte
		n, err := h.in.Read(chunk[:])
		h.line = append(h.line, chunk[:n]...)
		for !h.past {
			i := bytes.IndexByte(h.line, '\n')
			if i < 0 {
				break
			}
			if at := handshakeStart.FindIndex(h.line[:i]); at != nil {
				h.past = true
				h.found(string(h.line[at[0]:i]))
				h.ready.Write(h.line[at[0]:])
			}
			h.line = h.line[i+1:]
		}
		if err != nil && !h.past {
			return 0, err
		}
	}
	if h.ready.Len() > 0 {
		return h.ready.Read(b)
	}
	// go-plugin drops what follows, but stops reading at a line beyond 64 KiB.
	_, err := io.Copy(io.Discard, h.in)
	if err == nil {
		err = io.EOF
	}
	return 0, err
}

func (h *handshakeFilter) Close() error { return h.in.Close() }

// tee keeps the end of what is read.
type tee struct {
	in   io.ReadCloser
	tail *tail
}

func (t *tee) Read(b []byte) (int, error) {
	n, err := t.in.Read(b)
	_, _ = t.tail.Write(b[:n])
	return n, err
}

func (t *tee) Close() error { return t.in.Close() }

// tail keeps the last kilobytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(b), nil
}

// quote returns the end of the output as the end of a sentence.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	text := strings.Join(lines[max(0, len(lines)-12):], "\n")
	if text == "" {
		return ""
	}
	return "; it said:\n" + text
}

// logLine logs what a plugin printed, at the level of a tag such as "[WARN]" in
// front.
func logLine(log hclog.Logger, line string) {
	for tag, level := range map[string]hclog.Level{
		"[TRACE]": hclog.Trace, "[DEBUG]": hclog.Debug, "[INFO]": hclog.Info, "[WARN]": hclog.Warn, "[ERROR]": hclog.Error,
	} {
		if text, ok := strings.CutPrefix(line, tag); ok {
			// The key tells a level that was meant from that of a plain line.
			log.Log(level, strings.TrimSpace(text), "timestamp", "")
			return
		}
	}
	log.Info(line)
}

// lineWriter hands on whole lines.
type lineWriter struct {
	mu    sync.Mutex
	part  []byte
	write func(line string)
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, b...)
	for {
		i := bytes.IndexByte(w.part, '\n')
		if i < 0 {
			return len(b), nil
		}
		w.write(string(w.part[:i]))
		w.part = w.part[i+1:]
	}
}
