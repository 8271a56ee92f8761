import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// Compiling the sources is most of a warm start; what Node keeps of it is read back by the next one. Where the folder
// cannot be written nothing is kept and nothing fails.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/node-compile', import.meta.url)))

await import('./run.ts')
