import type { PublishPart } from '../../../../platforms/publishing.ts'
import type { NewPart } from '../../publication/index.ts'
import type { SegmentRow } from '../../posts/index.ts'

/** Fields of a part that some platforms can edit. */
const FIELDS = ['text', 'title', 'link', 'tags'] as const
export type EditableField = (typeof FIELDS)[number]

/** What a platform must do to show another content than the published one. */
export interface Differences {
  /** Parts that the platform can edit, with their new content. */
  readonly edits: readonly { readonly segmentId: string; readonly part: PublishPart }[]
  /** Parts that are not published yet, with their new content. */
  readonly unpublished: readonly { readonly segmentId: string; readonly part: PublishPart }[]
  /** What no edit can change, in words. */
  readonly impossible: readonly string[]
}

/**
 * Compares what is published with what the post says now.
 * @param editable the fields that the platform can edit; none if it cannot edit posts
 * @param touched segments that must be edited in any case
 */
export function differencesOf(
  segments: readonly SegmentRow[],
  parts: readonly NewPart[],
  editable: readonly EditableField[],
  touched: readonly string[] = [],
): Differences {
  const impossible = new Set<string>()
  const edits: { segmentId: string; part: PublishPart }[] = []
  const unpublished: { segmentId: string; part: PublishPart }[] = []
  for (let index = 0; index < Math.max(segments.length, parts.length); index += 1) {
    const segment = segments[index]
    const part = parts[index]
    if (segment === undefined || part === undefined || segment.part.role !== part.role) {
      const isComment = part?.role === 'comment' || (part === undefined && segment?.part.role === 'comment')
      impossible.add(isComment ? 'the first comment' : 'the parts of the thread')
      continue
    }
    const old = segment.part
    if (segment.remote === null) {
      const isOpen = segment.status === 'pending' || segment.status === 'failed'
      const { createdAt, key } = old
      if (isOpen) unpublished.push({ segmentId: segment.id, part: plainJson({ ...part, key, createdAt }) })
      continue
    }
    if (!isSame(filesOf(old), filesOf(part))) impossible.add('the files')
    if (!isSame(old.options, part.options)) impossible.add('the options of the platform')
    const changed = FIELDS.filter((field) => !isSame(old[field], part[field]))
    for (const field of changed) if (!editable.includes(field)) impossible.add(NAMES[field])
    const fields = changed.filter((field) => editable.includes(field))
    if (fields.length === 0 && !touched.includes(segment.id)) continue
    const edited: Record<string, unknown> = { ...old }
    for (const field of editable) edited[field] = part[field]
    edits.push({ segmentId: segment.id, part: plainJson(edited as unknown as PublishPart) })
  }
  return { edits, unpublished, impossible: [...impossible] }
}

/** Without undefined fields, as it is stored. */
function plainJson(part: PublishPart): PublishPart {
  return JSON.parse(JSON.stringify(part)) as PublishPart
}

const NAMES: Readonly<Record<EditableField, string>> = {
  text: 'the text',
  title: 'the title',
  link: 'the link',
  tags: 'the tags',
}

function filesOf({ media }: Pick<NewPart, 'media'>) {
  return media.map(({ altText, id }) => [id, altText ?? ''])
}

/** Parts are plain JSON. Absent fields and empty lists mean the same. */
function isSame(one: unknown, two: unknown): boolean {
  const text = (value: unknown) => JSON.stringify(value ?? null)
  return text(one) === text(two) || (isNothing(one) && isNothing(two))
}

function isNothing(value: unknown): boolean {
  return value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
}
