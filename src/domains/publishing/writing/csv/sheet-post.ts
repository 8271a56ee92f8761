/** A post as a row of a sheet expresses it: the body of createPost without the workspace. Absent fields are not set. */
export interface SheetPost {
  readonly content?: string
  readonly title?: string
  readonly link?: string
  readonly media?: readonly SheetMedia[]
  /** The parts after the first one. Parts of JSON cells are checked by the schema of createPost. */
  readonly thread?: readonly unknown[]
  /** Null for none, whatever the author's settings say. */
  readonly firstComment?: string | null
  readonly tags?: readonly string[]
  readonly targets?: readonly SheetTarget[]
  readonly labels?: readonly string[]
  readonly scheduledFor?: string
  readonly timezone?: string
  readonly lateMinutes?: number
  /** The next free slot of the queue: of those with this label, or of those without one. */
  readonly queue?: { readonly label?: string }
  /** A rule, or what the JSON of the cell says. */
  readonly recurrence?: Readonly<Record<string, unknown>>
  readonly publishNow?: boolean
  readonly draft?: boolean
}

/** An asset, or an object with `assetId` or `url`. */
export type SheetMedia = string | Readonly<Record<string, unknown>>

export interface SheetTarget {
  readonly accountId: string
  readonly override?: Readonly<Record<string, unknown>>
}
