import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SOCKET_IO = join(
  dirname(createRequire(import.meta.url).resolve('socket.io-client/package.json')),
  'dist/socket.io.esm.min.js',
)

export interface SourcePages {
  readonly origin: string
  close(): void
}

/**
 * Serves a page whose modules are the sources under `/src` and `/socket.io.js`. The browser runs the sources as Node does,
 * with types stripped.
 */
export async function servePage(html: string): Promise<SourcePages> {
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    if (path === '/') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html)
      return
    }
    const isTypeScript = /^\/src\/[\w/-]+\.ts$/.test(path)
    if (!isTypeScript && path !== '/socket.io.js') {
      response.writeHead(404).end()
      return
    }
    const text = readFileSync(isTypeScript ? join(ROOT, path) : SOCKET_IO, 'utf8')
    response.setHeader('Content-Type', 'text/javascript; charset=utf-8')
    response.end(isTypeScript ? stripTypeScriptTypes(text) : text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
}
