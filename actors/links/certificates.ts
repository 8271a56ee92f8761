import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

/** In PEM. Both ends of a link show a certificate, signed by `ca`. */
export interface LinkTls {
  readonly key: string
  readonly cert: string
  readonly ca: string
}

/**
 * Certificates in files, read anew when these have changed; to be asked for each connection. What cannot be used is
 * told once, and the certificates before it stay: files are written one after the other.
 *
 * @param paths of the files @throws Error when they cannot be used to begin with
 */
export function certificateFiles(paths: LinkTls, onError: (error: unknown) => void): () => LinkTls {
  let seen = changeOf(paths)
  let current = read(paths)
  return () => {
    try {
      const change = changeOf(paths)
      if (change !== seen) {
        seen = change
        current = read(paths)
      }
    } catch (error) {
      onError(error)
    }
    return current
  }
}

function changeOf({ ca, cert, key }: LinkTls): string {
  return [key, cert, ca].map((path) => statSync(path).mtimeMs).join()
}

function read(paths: LinkTls): LinkTls {
  const tls = {
    key: readFileSync(paths.key, 'utf8'),
    cert: readFileSync(paths.cert, 'utf8'),
    ca: readFileSync(paths.ca, 'utf8'),
  }
  createSecureContext(tls)
  return tls
}
