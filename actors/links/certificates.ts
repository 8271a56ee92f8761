import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

/** Certificates in PEM. Both ends of a link present one that is signed by `ca`. */
export interface LinkTls {
  readonly key: string
  readonly cert: string
  readonly ca: string
}

/**
 * Certificates in files, which are reloaded after a change. Call the returned function for each connection. An error is reported once,
 * and the previous certificates stay in use, because the files are not written at the same moment.
 *
 * @param paths of the files @throws Error when they cannot be used at the start
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
