import { keyFor, type Key } from '../../../tools/keys.ts'

/** What a worker signs: one file, for one owner, once. */
export interface WorkerClaims {
  /** ISO 8601, UTC. */
  readonly date: string
  /** 16 to 64 characters of base64url, never used before. */
  readonly nonce: string
  /** The workspace or user that the file is for. */
  readonly owner: string
  /** SHA-256 of the file, hexadecimal. */
  readonly sha256: string
  /** Bytes of the file. */
  readonly size: number
}

/** The scheme in Authorization. */
export const WORKER_SCHEME = 'Crier-Worker'

const HEADER =
  /^Crier-Worker date=([^,]{20,30}), nonce=([\w-]{16,64}), owner=([0-9a-f-]{36}), sha256=([0-9a-f]{64}), size=(\d{1,15}), signature=([0-9a-f]{64})$/

/** Signs requests of workers with a key that is derived from the secret of the cluster (HKDF, RFC 5869). */
export class WorkerSignatures {
  readonly #key: Key

  constructor(clusterSecret: string) {
    this.#key = keyFor(clusterSecret, 'worker requests')
  }

  /** The value of Authorization for a request. @param target method and path, such as `POST /api/internal/uploads` */
  sign(target: string, { date, nonce, owner, sha256, size }: WorkerClaims): string {
    const signature = this.#key.mac(textOf(target, { date, nonce, owner, sha256, size }), 'hex')
    const fields = `date=${date}, nonce=${nonce}, owner=${owner}, sha256=${sha256}, size=${size}`
    return `${WORKER_SCHEME} ${fields}, signature=${signature}`
  }

  /** What a header claims. Undefined if it is malformed or the signature is wrong. */
  read(target: string, authorization: string): WorkerClaims | undefined {
    const [, date = '', nonce = '', owner = '', sha256 = '', size = '', signature = ''] =
      HEADER.exec(authorization) ?? []
    if (signature === '') return undefined
    const claims = { date, nonce, owner, sha256, size: Number(size) }
    return this.#key.matches(textOf(target, claims), Buffer.from(signature, 'hex')) ? claims : undefined
  }
}

/** What the signature of a request covers. */
function textOf(target: string, { date, nonce, owner, sha256, size }: WorkerClaims): string {
  return ['crier-worker-1', target, date, nonce, owner, sha256, size].join('\n')
}
