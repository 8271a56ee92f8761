import type { Provided } from '../../../../core/provided.ts'
import type { Turn } from '../../../../core/turn.ts'
import {
  type ApprovalGate,
  type DecisionScope,
  type PlanningScope,
  refsIn,
  type PostBody,
  type TargetOverride,
  type LoadedPost,
  isPerson,
  requireRelease,
  type TextRelease,
  type PostTextOriginData,
} from '../../posts/index.ts'
import { refKey, type PostFile } from '../../../media/assets/index.ts'
import type { ModelTexts } from './model-texts.ts'
import type { SeriesRow } from '../series/tables.ts'
import { bodiesOf, type SeriesTemplate } from '../series/template.ts'

type Wanted = readonly { readonly override: TargetOverride | null }[]
/** The files of a post, whose alt texts are published where the post has none. */
type Files = ReadonlyMap<string, PostFile>

/** Marks posts whose texts a model wrote. */
export class TextOrigins {
  readonly #models: Provided<ModelTexts>
  readonly #approvals: Provided<ApprovalGate>

  constructor(models: Provided<ModelTexts>, approvals: Provided<ApprovalGate>) {
    this.#models = models
    this.#approvals = approvals
  }

  /** The mark of a content, which nobody has released yet. Null if no model wrote text of it. */
  async of(scope: PlanningScope, body: PostBody, wanted: Wanted, files: Files): Promise<PostTextOriginData | null> {
    const found = await this.#models.get().find(scope, textsOf(body, wanted, files))
    return found === undefined ? null : { ...found, release: null, releasedBy: null, releasedAt: null }
  }

  /** The mark after a change. A decision of a person holds as long as the texts stay the same. */
  async after(turn: Turn, { post, targets }: LoadedPost, body: PostBody, wanted: Wanted, files: Files) {
    const old = new Set(textsOf(post.body, targets, files))
    const texts = textsOf(body, wanted, files)
    const isNew = texts.some((text) => !old.has(text))
    if (!isNew && texts.length === old.size) return post.textOrigin
    const origin = await this.of(turn, body, wanted, files)
    if (isNew || origin === null || post.textOrigin === null) return origin
    const { release, releasedAt, releasedBy } = post.textOrigin
    return { ...origin, release, releasedBy, releasedAt }
  }

  /**
   * Refuses to schedule a new post that the caller cannot release. What goes into review is decided on there.
   * @throws AppError model_text_not_released for an API key
   */
  async requireReleased(scope: DecisionScope, origin: PostTextOriginData | null): Promise<void> {
    if (origin === null || isPerson(scope) || (await this.#approvals.get().applies(scope))) return
    await requireRelease(scope, origin)
  }

  /**
   * What is decided for the posts of a series, which are made later, when it begins or gets another content.
   * @throws AppError model_text_not_released, unless its posts go into review
   */
  async releaseFor(
    scope: DecisionScope,
    template: SeriesTemplate,
    files: Files,
    at: string,
  ): Promise<TextRelease | null> {
    if (isPerson(scope)) return { release: 'person', releasedBy: scope.caller?.userId ?? null, releasedAt: at }
    await this.requireReleasedTexts(scope, bodiesOf(template), template.targets, files)
    return null
  }

  /**
   * Refuses contents that the caller cannot schedule.
   * @throws AppError model_text_not_released for an API key, unless its posts go into review
   */
  async requireReleasedTexts(
    scope: DecisionScope,
    bodies: readonly PostBody[],
    wanted: Wanted,
    files: Files,
  ): Promise<void> {
    if (isPerson(scope) || (await this.#approvals.get().applies(scope))) return
    for (const body of bodies) await requireRelease(scope, await this.of(scope, body, wanted, files))
  }

  /** The same for a change. @throws AppError model_text_not_released */
  async releaseAfter(
    turn: Turn,
    row: SeriesRow,
    template: SeriesTemplate,
    files: Files,
    at: string,
  ): Promise<TextRelease | null> {
    const old = new Set(textsIn(row.template, files))
    const isSame = textsIn(template, files).every((text) => old.has(text))
    return isSame && row.textRelease !== null ? row.textRelease : this.releaseFor(turn, template, files, at)
  }
}

/** Everything that a series publishes as text. */
const textsIn = (template: SeriesTemplate, files: Files) =>
  bodiesOf(template).flatMap((body) => textsOf(body, template.targets, files))

/** Everything that a post publishes as text. */
function textsOf(body: PostBody, wanted: Wanted, files: Files): string[] {
  const texts = [body, ...wanted.map(({ override }) => override)].flatMap((part) => [
    part?.content,
    part?.title,
    part?.firstComment,
    ...(part?.thread ?? []).map(({ content }) => content),
    ...(part?.tags ?? []),
    ...[...refsIn({ media: part?.media ?? [], thread: part?.thread ?? [] })].map(
      (ref) => ref.altText ?? files.get(refKey(ref))?.media.altText,
    ),
  ])
  const options = wanted.flatMap(({ override }) => textsInOptions(override?.options))
  return [...new Set([...texts, ...options].filter((text) => text != null && text !== ''))] as string[]
}

/** Texts of any depth, such as the question of a poll. */
function textsInOptions(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsInOptions) : []
}
