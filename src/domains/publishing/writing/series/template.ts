import { ValidationFailed } from '../../../../core/errors.ts'
import { findPlatform } from '../../../../platforms/registry.ts'
import { numberOf } from '../../../../platforms/rules/limits.ts'
import { canonicalJson } from '../changes/snapshot.ts'
import type { PostChecks } from '../checks.ts'
import type { Resources } from '../../planning/index.ts'
import {
  bodyFor,
  bodyOf,
  type PostBody,
  type PostChangeInput,
  type TargetOverride,
  type LoadedPost,
} from '../../posts/index.ts'
import type { VariationInput } from './schemas.ts'

/** The parts of a post that a variation replaces. */
export type Variation = Partial<PostBody>

/** What the posts of a series are made of. */
export interface SeriesTemplate {
  readonly body: PostBody
  /** Contents that take turns with `body`. */
  readonly variations: readonly Variation[]
  readonly targets: readonly TemplateTarget[]
  readonly labels: readonly string[]
  readonly lateMinutes: number
}

interface TemplateTarget {
  readonly accountId: string
  readonly platform: string
  readonly override: TargetOverride | null
}

const NOTHING: PostBody = bodyOf({})

export function variationsOf(inputs: readonly VariationInput[]): readonly Variation[] {
  return inputs.map((input) => {
    const whole = bodyOf(input)
    return Object.fromEntries(
      Object.keys(NOTHING)
        .filter((field) => input[field as keyof VariationInput] !== undefined)
        .map((field) => [field, whole[field as keyof PostBody]]),
    )
  })
}

/** All contents of a series, in the order in which they take turns. */
export function bodiesOf({ body, variations }: Pick<SeriesTemplate, 'body' | 'variations'>): readonly PostBody[] {
  return [body, ...variations.map((variation) => ({ ...body, ...variation }))]
}

/** The content of an occurrence. @param number from 0 */
export function bodyAt(template: SeriesTemplate, number: number): PostBody {
  const bodies = bodiesOf(template)
  return bodies[number % bodies.length] ?? template.body
}

/** The template of a series that begins with a post. */
export function templateOf({ post, targets }: LoadedPost, variations: readonly Variation[]): SeriesTemplate {
  const { body, labels, lateMinutes } = post
  return {
    body,
    variations,
    targets: targets.map(({ accountId, override, platform }) => ({ accountId, platform, override })),
    labels,
    lateMinutes,
  }
}

/** Whether a post was changed by itself, so that changes of its series leave it alone. */
export function isEdited({ post, targets }: LoadedPost, template: SeriesTemplate): boolean {
  if (post.localTime !== post.occurrence || targets.some(({ ownTime }) => ownTime)) return true
  const own = targets.map(({ accountId, override }) => ({ accountId, override }))
  const given = template.targets.map(({ accountId, override }) => ({ accountId, override }))
  const isSame =
    canonicalJson([own, post.labels, post.lateMinutes]) ===
    canonicalJson([given, template.labels, template.lateMinutes])
  const body = canonicalJson(post.body)
  return !isSame || !bodiesOf(template).some((one) => canonicalJson(one) === body)
}

/** The change that gives a post the content of an occurrence. */
export function changeTo(template: SeriesTemplate, number: number): PostChangeInput {
  const { labels, lateMinutes, targets } = template
  const input = {
    ...bodyAt(template, number),
    labels,
    lateMinutes,
    targets: targets.map(({ accountId, override }) => ({ accountId, ...(override !== null && { override }) })),
  }
  return input as unknown as PostChangeInput
}

/**
 * Refuses a series that a platform would not publish: each of its contents is checked, and where a platform refuses to
 * repeat a text, there must be enough variations.
 * @throws AppError validation_failed, platform_validation_failed
 */
export function requirePublishable(
  checks: PostChecks,
  template: SeriesTemplate,
  resources: Resources,
  path = '/body/recurrence/variations',
): void {
  const { targets } = template
  const bodies = bodiesOf(template)
  for (const body of bodies) checks.require(body, targets, resources)
  const errors = targets.flatMap(({ accountId, override }) => {
    const account = resources.accounts.get(accountId)
    const distinct = account === undefined ? 0 : (numberOf(checks.limits(account), 'text.distinct') ?? 0)
    const texts = bodies.map((body) => repeatable(bodyFor(body, override)))
    if (account === undefined || !repeats(texts, distinct)) return []
    const title = findPlatform(account.platform)?.title ?? account.platform
    const last = distinct === 1 ? 'the post before it' : `one of the last ${distinct} posts`
    const message = `${title} refuses a text that repeats ${last}. Add variations, so that at least ${distinct + 1} different texts of the account take turns.`
    return [{ path, code: 'variations_required', message }]
  })
  if (errors.length > 0) throw ValidationFailed({ errors })
}

/** The text that a post must not repeat. Platforms take posts with media again. */
function repeatable({ content, media }: PostBody): string {
  return media.length > 0 ? '' : content.trim()
}

/** Whether texts that take turns repeat one of the last `distinct` ones. Posts without a text repeat nothing. */
function repeats(texts: readonly string[], distinct: number): boolean {
  return texts.some((text, index) => {
    if (text === '') return false
    for (let distance = 1; distance <= distinct; distance += 1) {
      if (texts[(index + distance) % texts.length] === text) return true
    }
    return false
  })
}
