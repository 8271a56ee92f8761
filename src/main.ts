import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import './setup/v8-flags.ts'

// Compiling the sources takes most of a warm start, so Node caches the compiled code for the next start. If the folder
// is not writable, Node does not use the cache.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/node-compile', import.meta.url)))

await import('./server/run.ts')
