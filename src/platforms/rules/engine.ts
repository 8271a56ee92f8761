import type { PostContent } from '../content.ts'
import { numericLimit, type Check, type CheckContext, type RuledPlatform } from './check.ts'
import { checkMedia } from './check-media.ts'
import { checkOptions } from './check-options.ts'
import { checkPoll } from './check-poll.ts'
import { checkFields, checkText } from './check-text.ts'
import type { Limits } from './limits.ts'
import { breach, counted, general, missing, shown, type Problem } from './problem.ts'

/**
 * Checks a post against the limits of an account. Compose, schedule and publication use this one function.
 * @returns the problems; errors come first. The platform takes the post if none of them is an error
 */
export function check(
  platform: RuledPlatform,
  limits: Limits,
  content: PostContent,
  context: CheckContext = {},
): Problem[] {
  const problems: Problem[] = []
  const one: Check = { title: platform.title, platform, limits, content, context, problems }
  checkBlocked(one)
  checkFields(one)
  checkText(one, content, '')
  checkMedia(one, content, '')
  checkThread(one)
  checkOptions(one)
  checkPoll(one)
  checkContent(one)
  checkSchedule(one)
  checkRates(one)
  return problems.length < 2
    ? problems
    : [
        ...problems.filter(({ severity }) => severity === 'error'),
        ...problems.filter(({ severity }) => severity !== 'error'),
      ]
}

/** Whether the platform takes a post with these problems. */
export function isAccepted(problems: readonly Problem[]): boolean {
  return problems.every(({ severity }) => severity !== 'error')
}

/** What a post needs of the account, as `LiveCapabilities.blocked` names it. */
function* needsOf({ firstComment, link, media, options, text, thread = [] }: PostContent): Generator<[string, string]> {
  yield ['publish', '']
  if (media.length === 0 && text !== '') yield ['text', '/text']
  const kinds = new Set<string>()
  for (const [index, { kind }] of media.entries()) {
    if (!kinds.has(kind)) yield [kind, `/media/${index}`]
    kinds.add(kind)
  }
  if (thread.length > 0) yield ['thread', '/thread']
  if ((firstComment ?? '') !== '') yield ['comment', '/firstComment']
  if ((link ?? '') !== '') yield ['link', '/link']
  if (options['poll'] !== undefined) yield ['poll', '/options/poll']
}

function checkBlocked({ content, limits, problems, title }: Check): void {
  if (Object.keys(limits.blocked).length === 0) return
  for (const [capability, pointer] of needsOf(content)) {
    const reason = limits.blocked[capability]
    if (reason === undefined) continue
    problems.push(
      general('account.blocked', 'error', {
        pointer,
        actual: capability,
        message: reason,
        fix: capability === 'publish' ? `Do what ${title} requires, then try again.` : 'Remove this from the post.',
        source: { origin: 'live', title: 'the account, live', seen: null, confidence: null },
      }),
    )
  }
}

function checkThread(one: Check): void {
  const { content, problems, title } = one
  const { thread = [] } = content
  if (thread.length === 0) return
  const limit = numericLimit(one, 'thread.max')
  const most = Math.max(1, limit?.value ?? 1)
  const actual = thread.length + 1
  if (actual > most) {
    const message =
      most === 1
        ? `${title} has no threads.`
        : `The thread has ${counted(actual, 'part')}; ${title} allows ${shown(most)}.`
    const fix = most === 1 ? 'Remove the other parts.' : `Remove ${counted(actual - most, 'part')}.`
    const found = { actual, unit: 'parts', pointer: '/thread', message, fix }
    problems.push(limit === undefined ? missing('thread.max', found) : breach(limit, found))
    // The parts cannot be published at all, so their own problems do not matter.
    if (most === 1) return
  }
  for (const [index, part] of thread.entries()) {
    const at = `/thread/${index}`
    if (part.text.trim() === '' && part.media.length === 0) {
      problems.push(
        general('content.empty', 'error', {
          pointer: `${at}/text`,
          message: `Part ${index + 2} of the thread is empty.`,
          fix: 'Write a text, add a file, or remove the part.',
        }),
      )
      continue
    }
    checkText(one, part, at)
    checkMedia(one, part, at)
  }
}

/** Checks what no rule with a value describes. */
function checkContent({ content, limits, platform, problems }: Check): void {
  for (const found of platform.refusals?.(content, limits) ?? [])
    problems.push(general('content.refused', found.severity ?? 'error', found))
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

function checkSchedule(one: Check): void {
  const { context, problems, title } = one
  const { now, platformPublishesAt } = context
  if (now === undefined || platformPublishesAt === undefined) return
  const ahead = platformPublishesAt - now
  const least = numericLimit(one, 'schedule.minMinutes')
  const most = numericLimit(one, 'schedule.maxDays')
  const pointer = '/scheduledAt'
  if (least !== undefined && ahead < least.value * MINUTE) {
    const actual = Math.floor(ahead / MINUTE)
    const message = `The post is scheduled in ${counted(actual, 'minute')}; ${title} requires at least ${shown(least.value)}.`
    problems.push(breach(least, { actual, unit: 'minutes', pointer, message, fix: 'Choose a later time.' }))
  }
  if (most !== undefined && ahead > most.value * DAY) {
    const actual = Math.ceil(ahead / DAY)
    const message = `The post is scheduled in ${counted(actual, 'day')}; ${title} allows ${shown(most.value)}.`
    problems.push(breach(most, { actual, unit: 'days', pointer, message, fix: 'Choose an earlier time.' }))
  }
}

const RATES = [
  ['posts.perDay', 'posts in the last 24 hours', 1],
  ['posts.perHour', 'posts in the last hour', 1],
  ['replies.perDay', 'replies in the last 24 hours', 0],
] as const

function checkRates(one: Check): void {
  const { content, context, problems, title } = one
  if (context.used === undefined) return
  const replies = (content.thread?.length ?? 0) + ((content.firstComment ?? '') === '' ? 0 : 1)
  // Where a platform does not count replies separately, each of them is a post.
  const countsReplies = one.limits.byId.has('replies.perDay')
  for (const [id, unit, isPosts] of RATES) {
    const limit = numericLimit(one, id)
    const used = context.used[id]
    if (limit === undefined || used === undefined) continue
    const added = isPosts === 1 ? 1 + (countsReplies ? 0 : replies) : replies
    const actual = used + added
    if (added === 0 || actual <= limit.value) continue
    const message = `With this post, the account has ${shown(actual)} ${unit}; ${title} allows ${shown(limit.value)}.`
    problems.push(breach(limit, { actual, unit, pointer: '', message, fix: 'Schedule the post for a later time.' }))
  }
}
