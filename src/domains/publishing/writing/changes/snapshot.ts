import { createHash } from 'node:crypto'

/**
 * The parts of a post that versions compare and approvals are bound to. Absent, null and empty fields mean the same.
 */
export interface PostSnapshot extends ContentSnapshot {
  readonly labels?: readonly string[] | null
  readonly scheduledFor?: string | null
  /** The wall clock of `scheduledFor` in `timezone`. */
  readonly localTime?: string | null
  readonly timezone?: string | null
  readonly lateMinutes?: number | null
  readonly targets?: readonly TargetSnapshot[] | null
}

/** What is published, of the post or of one account. */
export interface ContentSnapshot {
  readonly content?: string | null
  readonly title?: string | null
  readonly link?: string | null
  readonly media?: readonly MediaSnapshot[] | null
  readonly thread?: readonly ThreadPartSnapshot[] | null
  readonly firstComment?: string | null
  readonly tags?: readonly string[] | null
}

export interface MediaSnapshot {
  readonly assetId: string
  readonly renditionId?: string | null
  readonly altText?: string | null
  /** A checksum of the file, for `contentHash`. Without it, only the id of the asset is bound. */
  readonly checksum?: string | null
}

export interface ThreadPartSnapshot {
  readonly content: string
  readonly media?: readonly MediaSnapshot[] | null
}

export interface TargetSnapshot {
  readonly accountId: string
  /** What this account publishes differently. A field that is absent is that of the post; null or empty replaces it. */
  readonly override?: OverrideSnapshot | null
}

export interface OverrideSnapshot extends ContentSnapshot {
  readonly options?: Readonly<Record<string, unknown>> | null
  readonly scheduledFor?: string | null
  readonly localTime?: string | null
  readonly timezone?: string | null
}

/**
 * A SHA-256, in hex, of everything that an approver has seen and that is published: texts, media with their order and
 * alt texts, thread, accounts with their overrides and options, and times. Labels and the late limit are not published
 * and not part of it. The order of fields and of targets does not matter. Texts are not normalized: platforms get
 * exactly these characters.
 */
export function contentHash(snapshot: PostSnapshot): string {
  const { labels: _labels, lateMinutes: _lateMinutes, targets, ...rest } = snapshot
  const byAccount = (targets ?? []).toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1))
  const seen = {
    ...fieldsOf(rest),
    targets: byAccount.map(({ accountId, override }) => ({ accountId, override: overrideOf(override ?? {}) })),
  }
  return createHash('sha256').update(canonicalJson(seen)).digest('hex')
}

/** An empty field differs from an absent one here: it replaces the text of the post by nothing. */
function overrideOf({ options, ...fields }: OverrideSnapshot): object {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, withoutEmpty(value)])),
    ...(options && Object.keys(options).length > 0 && { options }),
  }
}

/** JSON with sorted keys and without undefined fields: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part === null || typeof part !== 'object' || Array.isArray(part)
      ? part
      : Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
}

/** Drops fields that are undefined, null, empty texts or empty lists, at every level. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  return value === null || typeof value !== 'object' ? value : fieldsOf(value)
}

function fieldsOf(value: object): object {
  const fields = Object.entries(value).filter(([, field]) => !isEmpty(field))
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutEmpty(field)]))
}

/** Whether a field says nothing. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}
