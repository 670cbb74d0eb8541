// Package core holds the vocabulary of unbraid and the loop that everything
// hangs on.
//
// There are five kinds of component: objective, hessian, estimator, noise and
// solver. Components never call each other and never touch files, clocks,
// loggers or global randomness. They say what they need next, and the loop
// gets it for them; only the loop evaluates, counts, stops and records. That
// makes every component a small deterministic state machine that may run in
// the caller's process or in its own, with the same result to the last bit.
//
// Matrices hold points as rows. Destinations come first and belong to the
// caller; a matrix handed to a component is only lent for the call.
package core
