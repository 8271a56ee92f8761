import { ValidationFailed } from '../../../core/errors.ts'
import { publicContent, type PostContent, type PostMedia } from '../../../platforms/content.ts'
import { refKey, type PostFile } from '../../media/assets/index.ts'
import type { MediaRef, NewPostInput, PostBody, PostChangeInput, TargetOverride } from './schemas.ts'

type ContentInput = Pick<PostChangeInput, 'content' | 'title' | 'link' | 'media' | 'thread' | 'firstComment' | 'tags'>
type MediaInput = NonNullable<ContentInput['media']>
type OverrideInput = NonNullable<NonNullable<NewPostInput['targets']>[number]['override']>

export const EMPTY_BODY: PostBody = {
  content: '',
  title: null,
  link: null,
  media: [],
  thread: [],
  firstComment: null,
  tags: [],
}

/** Applies the fields of a request to a content. Absent fields stay as they are. */
export function bodyOf(input: ContentInput, old: PostBody = EMPTY_BODY): PostBody {
  return { ...old, ...given(input) }
}

/** The fields of a post that a request replaces for one account. Null if it replaces none. */
export function overrideOf(input: OverrideInput | null | undefined): TargetOverride | null {
  if (input == null) return null
  const override = { ...given(input), ...(input.options !== undefined && { options: input.options }) }
  return Object.keys(override).length === 0 ? null : override
}

function given({ content, firstComment, link, media, tags, thread, title }: ContentInput): Partial<PostBody> {
  return {
    ...(content !== undefined && { content }),
    ...(title !== undefined && { title: blankToNull(title) }),
    ...(link !== undefined && { link: blankToNull(link) }),
    ...(media !== undefined && { media: refsOf(media) }),
    ...(thread !== undefined && { thread: thread.map((part) => ({ ...part, media: refsOf(part.media ?? []) })) }),
    ...(firstComment !== undefined && { firstComment: blankToNull(firstComment) }),
    ...(tags !== undefined && { tags }),
  }
}

function blankToNull(text: string | null): string | null {
  return text === '' ? null : text
}

/** @throws AppError validation_failed for a file without an asset */
function refsOf(media: MediaInput): MediaRef[] {
  return media.map((item, index) => {
    if (typeof item === 'string') return { assetId: item, renditionId: null, altText: null }
    const { altText = null, assetId, renditionId = null, url } = item
    if (assetId !== undefined && url === undefined) return { assetId, renditionId, altText }
    const [field, message] =
      url === undefined
        ? ['assetId', 'is required, or url']
        : assetId === undefined
          ? ['url', 'cannot be used here. Add the file with POST /api/assets/import-url first']
          : ['url', 'cannot be combined with assetId']
    throw ValidationFailed({ errors: [{ path: `/body/media/${index}/${field}`, code: 'media', message }] })
  })
}

/** The content of a post for one account. */
export function bodyFor(body: PostBody, override: TargetOverride | null): PostBody {
  if (override === null) return body
  const { options: _options, ...fields } = override
  return { ...body, ...fields }
}

/** The files that a content names. */
export function* refsIn({ media, thread }: Pick<PostBody, 'media' | 'thread'>): Generator<MediaRef> {
  yield* media
  for (const part of thread) yield* part.media
}

/** The files that a post names, in itself and in its overrides. */
export function allRefs(body: PostBody, overrides: readonly (TargetOverride | null)[]): MediaRef[] {
  return [
    ...refsIn(body),
    ...overrides.flatMap((override) => [...refsIn({ media: override?.media ?? [], thread: override?.thread ?? [] })]),
  ]
}

/** A content as platforms and their rules see it. Files that are not in `files` are left out; see `missingRefs`. */
export function contentFor(
  body: PostBody,
  override: TargetOverride | null,
  files: ReadonlyMap<string, PostFile>,
): PostContent {
  const { content, firstComment, link, media, tags, thread, title } = bodyFor(body, override)
  const filesOf = (refs: readonly MediaRef[]) => refs.flatMap((ref) => mediaOf(ref, files))
  // The only way from a post to a platform, for checks, publication and edits.
  return publicContent({
    text: content,
    media: filesOf(media),
    ...(title !== null && { title }),
    ...(link !== null && { link }),
    ...(tags.length > 0 && { tags }),
    ...(thread.length > 0 && {
      thread: thread.map((part) => ({ text: part.content, media: filesOf(part.media) })),
    }),
    ...(firstComment !== null && { firstComment }),
    options: override?.options ?? {},
  })
}

function mediaOf(ref: MediaRef, files: ReadonlyMap<string, PostFile>): PostMedia[] {
  const file = files.get(refKey(ref))
  if (file === undefined) return []
  return [ref.altText == null ? file.media : { ...file.media, altText: ref.altText }]
}
