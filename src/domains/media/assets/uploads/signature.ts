import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** The values that a signature covers. Each of them changes the signature. */
export interface SignedValues {
  readonly uploadId: string
  readonly size: number
  readonly type: string
  readonly sha256: string | null
  /** Seconds since the Unix epoch. */
  readonly expires: number
}

/** Signs upload URLs with a separate key, derived from the installation's secret. */
export class UploadSignatures {
  readonly #key: Buffer

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'upload urls', 32))
  }

  sign({ expires, sha256, size, type, uploadId }: SignedValues): string {
    const text = [uploadId, size, type, sha256 ?? '', expires].join('\n')
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }

  /** Checks a signature in constant time. */
  verify(signed: SignedValues, signature: string): boolean {
    const expected = Buffer.from(this.sign(signed))
    const given = Buffer.from(signature)
    return expected.length === given.length && timingSafeEqual(expected, given)
  }
}
