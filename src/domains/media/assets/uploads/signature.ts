import { keyFor, type Key } from '../../../../tools/keys.ts'

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
  readonly #key: Key

  constructor(secret: string) {
    this.#key = keyFor(secret, 'upload urls')
  }

  sign(values: SignedValues): string {
    return this.#key.mac(textOf(values))
  }

  /** Checks a signature in constant time. */
  verify(signed: SignedValues, signature: string): boolean {
    return this.#key.matches(textOf(signed), signature)
  }
}

function textOf({ expires, sha256, size, type, uploadId }: SignedValues): string {
  return [uploadId, size, type, sha256 ?? '', expires].join('\n')
}
