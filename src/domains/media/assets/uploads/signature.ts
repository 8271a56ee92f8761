import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** What a signed URL is good for: any other size, type or checksum has another signature. */
export interface Signed {
  readonly uploadId: string
  readonly size: number
  readonly type: string
  readonly sha256: string | null
  /** Seconds since the Unix epoch. */
  readonly expires: number
}

/** Signs upload URLs under a key of their own, derived from the installation's secret. */
export class UploadSignatures {
  readonly #key: Buffer

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'upload urls', 32))
  }

  sign({ expires, sha256, size, type, uploadId }: Signed): string {
    const text = [uploadId, size, type, sha256 ?? '', expires].join('\n')
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }

  /** Compared in constant time. */
  holds(signed: Signed, signature: string): boolean {
    const right = Buffer.from(this.sign(signed))
    const given = Buffer.from(signature)
    return right.length === given.length && timingSafeEqual(right, given)
  }
}
