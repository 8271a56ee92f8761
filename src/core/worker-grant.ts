/** What a signed request of a worker may do: send one file for one owner. */
export interface WorkerGrant {
  /** The workspace or user that the file is for. */
  readonly ownerId: string
  /** SHA-256 of the file, hexadecimal. */
  readonly sha256: string
  /** Bytes of the file. */
  readonly size: number
}
