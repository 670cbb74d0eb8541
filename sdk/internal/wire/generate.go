// Package wire is the protocol between the runner and a component's process:
// the generated messages, and the packing of matrices into them.
package wire

// Needs protoc; the two Go plugins are tools of go.mod.
//go:generate sh -c "protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --plugin=protoc-gen-go-grpc=$(go tool -n protoc-gen-go-grpc) --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative component.proto"
