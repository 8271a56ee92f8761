import type { PostMedia } from '../content.ts'
import type { Platform } from '../platform.ts'
import { checkMedia } from './check-media.ts'
import type { Limit, LimitSource, Limits } from './limits.ts'
import { GENERAL, type Problem } from './problem.ts'

/** A file that is not an asset, with what is known of it. */
export interface LooseFile {
  readonly kind: 'image' | 'video' | 'audio' | 'document'
  /** The media type, such as `image/jpeg`. */
  readonly type: string
  readonly name: string
  readonly bytes: number | undefined
  readonly width?: number
  readonly height?: number
}

/** What a platform does with a file. */
export interface FileVerdict {
  /** Why it refuses the file. Empty if it takes it. */
  readonly refusals: string[]
  /** What it changes. */
  readonly adjustments: string[]
  /** The source of the limit that counts: the first that the file breaks, or the types that the platform takes. */
  readonly source: LimitSource
}

/**
 * Checks a single file against the limits of a platform. A GIF may be animated or not, so it is taken if one of both is.
 */
export function checkFile(platform: Pick<Platform, 'title' | 'options'>, limits: Limits, file: LooseFile): FileVerdict {
  if (file.kind === 'audio') {
    const refusals = [`${platform.title} takes no audio files.`]
    return { refusals, adjustments: [], source: sourceOf(limits, 'video') }
  }
  const kinds: PostMedia['kind'][] = file.type === 'image/gif' ? ['gif', 'image'] : [file.kind]
  const tried = kinds.map((kind) => problemsOf(platform, limits, file, kind))
  const problems = tried.find((found) => found.every(({ severity }) => severity !== 'error')) ?? tried[0] ?? []
  const textsOf = (severity: Problem['severity']) =>
    problems.filter((problem) => problem.severity === severity).map(({ message }) => message)
  return {
    refusals: textsOf('error'),
    adjustments: textsOf('warning'),
    source: problems[0]?.source ?? sourceOf(limits, file.kind),
  }
}

function problemsOf(
  platform: Pick<Platform, 'title' | 'options'>,
  limits: Limits,
  { bytes, height, name, type, width }: LooseFile,
  kind: PostMedia['kind'],
): Problem[] {
  const media: PostMedia = {
    id: name,
    kind,
    type,
    name,
    bytes: bytes ?? 0,
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
  }
  const content = { text: '', media: [media], options: {} }
  const problems: Problem[] = []
  checkMedia({ title: platform.title, platform, limits, content, context: {}, problems }, content, '')
  return problems.filter(
    ({ rule }) => rule !== 'media.unexamined' && (bytes !== undefined || !/\.(?:min|max)Bytes$/.test(rule)),
  )
}

/** Where the platform's limits for a kind of file are from. */
function sourceOf({ byId }: Limits, kind: LooseFile['kind']): LimitSource {
  const rules: Limit[] = [...byId.values()]
  const found = rules.find(({ id }) => id === `${kind}.types`) ?? rules.find(({ id }) => id.startsWith(`${kind}.`))
  return (found ?? rules[0])?.source ?? GENERAL
}
