import { textWithLink, type PartContent, type PostContent } from '../content.ts'
import { checkLength, has, numericLimit, warnUnused, type Check } from './check.ts'
import { numberOf, type Limits } from './limits.ts'
import type { RuleId } from './rule.ts'
import { breach, counted, general, missing, shown } from './problem.ts'
import { spansOf, type Span } from './spans.ts'

/** Rules about links, mentions and hashtags. Few platforms have one, so most texts need no search for them. */
const OF_SPANS: readonly RuleId[] = ['hashtags.max', 'mentions.max', 'links.max', 'link.shortened']

/** Rules of platforms that publish the link of a post. */
const OF_LINKS: readonly RuleId[] = ['link.max', 'link.card', 'link.inText']

/** Rules of platforms that publish the title of a post. */
const TITLES: readonly RuleId[] = ['title.max', 'title.maxWithImages']

/** Checks the text of one part. @param at the pointer of the part: empty, or `/thread/0` */
export function checkText(check: Check, { media, text }: PartContent, at: string): void {
  const pointer = `${at}/text`
  const link = at === '' ? linkInText(check.limits, check.content) : ''
  if (text === '' && link === '') return
  if (!text.isWellFormed() || text.includes('\0')) {
    check.problems.push(
      general('text.invalid', 'error', {
        pointer,
        message: 'The text has characters that are not valid Unicode.',
        fix: 'Enter the text again.',
      }),
    )
    return
  }
  const rule = textRule(check.limits, media, at !== '')
  const what = rule.startsWith('caption.') ? 'The text beside the files' : 'The text'
  const fix = has(check, 'thread.max') && check.limits.byId.get('thread.max')?.value !== 1 ? SPLIT : 'Shorten the text.'
  const plain = plainOf(check, text, pointer)
  if (plain === undefined) return
  const shown = text.includes(link) ? plain : textWithLink({ text: plain, link })
  checkLength(check, rule, { text: shown, pointer, what, fix })
  checkLength(check, 'text.maxBytes', { text: shown, pointer, what, fix })
  if (!OF_SPANS.some((id) => check.limits.byId.has(id))) return
  checkSpans(check, textWithLink({ text, link }), at)
}

/** The link that is published at the end of the text of a post; empty if there is none. */
export function linkInText(limits: Limits, { link = '', media }: PostContent): string {
  if (numberOf(limits, 'link.inText') !== 1) return ''
  return media.length > 0 || numberOf(limits, 'link.card') !== 1 ? link : ''
}

/** Checks the links, mentions and hashtags of a text. */
function checkSpans(check: Check, text: string, at: string): void {
  const pointer = `${at}/text`
  const spans = spansOf(text)
  checkCount(check, 'hashtags.max', spans, 'hashtag', pointer)
  checkCount(check, 'mentions.max', spans, 'mention', pointer)
  checkLinks(check, text, { spans, pointer, link: at === '' ? check.content.link : undefined })
  const shortened = check.limits.byId.get('link.shortened')
  const links = spans.filter(({ kind }) => kind === 'link')
  if (shortened?.value === 1 && links.length > 0) {
    check.problems.push({
      ...breach(shortened, {
        actual: links.length,
        unit: 'links',
        pointer,
        message: `${check.title} replaces ${links.length === 1 ? 'the link' : 'the links'} in the text by short ones.`,
        fix: 'Nothing to do. The short links lead to the same pages.',
      }),
      severity: 'warning',
    })
  }
}

/** The text without markup. Reports markup that the platform could not read. */
function plainOf({ content, platform, problems }: Check, text: string, pointer: string): string | undefined {
  if (platform.plainText === undefined) return text
  const plain = platform.plainText(text, content.options)
  if (plain === undefined) {
    problems.push(
      general('text.markup', 'error', {
        pointer,
        message: `${platform.title} cannot read the markup of the text.`,
        fix: 'Close everything that is opened, and escape reserved characters. Or publish the text without markup.',
      }),
    )
  }
  return plain
}

/** The rule for the length of a text beside these files. @param isReply whether it is of a part after the first one */
export function textRule({ byId }: Limits, media: PartContent['media'], isReply: boolean): RuleId {
  if (isReply && byId.has('thread.textMax')) return 'thread.textMax'
  if (media.length > 0 && media.every(({ kind }) => kind !== 'video') && byId.has('caption.maxWithImages')) {
    return 'caption.maxWithImages'
  }
  return media.length > 0 && byId.has('caption.max') ? 'caption.max' : 'text.max'
}

const SPLIT = 'Shorten the text, or split it into a thread.'

function checkCount(
  check: Check,
  id: 'hashtags.max' | 'mentions.max',
  spans: readonly Span[],
  kind: Span['kind'],
  pointer: string,
): void {
  const limit = numericLimit(check, id)
  if (limit === undefined) return
  const actual = spans.filter((span) => span.kind === kind).length
  if (actual <= limit.value) return
  const message = `The text has ${counted(actual, kind)}; ${check.title} allows ${shown(limit.value)}.`
  check.problems.push(breach(limit, { actual, unit: `${kind}s`, pointer, message, fix: `Remove some ${kind}s.` }))
}

/** Checks how many different links a text has, with the link of the post. */
function checkLinks(
  check: Check,
  text: string,
  { link, pointer, spans }: { spans: readonly Span[]; pointer: string; link: string | undefined },
): void {
  const limit = numericLimit(check, 'links.max')
  if (limit === undefined) return
  const links = new Set(spans.filter(({ kind }) => kind === 'link').map(({ end, start }) => text.slice(start, end)))
  if (link !== undefined) links.add(link)
  const actual = links.size
  if (actual <= limit.value) return
  const message = `The text has ${counted(actual, 'different link')}; ${check.title} allows ${shown(limit.value)}.`
  check.problems.push(breach(limit, { actual, unit: 'links', pointer, message, fix: 'Remove some links.' }))
}

/** Checks title, link, tags and first comment. */
export function checkFields(check: Check): void {
  const { content, title: platform } = check
  const { firstComment = '', tags = [], title = '' } = content
  checkRequired(check)
  checkTitle(check, title)
  checkLink(check)
  checkTags(check, tags)
  if (firstComment === '') return
  if (!has(check, 'comment.max')) {
    const limit = numericLimit(check, 'comment.max')
    const message = `${platform} has no first comments.`
    const found = { actual: 1, unit: 'comments', pointer: '/firstComment', message, fix: 'Remove the first comment.' }
    check.problems.push(limit === undefined ? missing('comment.max', found) : breach(limit, found))
    return
  }
  const plain = plainOf(check, firstComment, '/firstComment')
  if (plain === undefined) return
  checkLength(check, 'comment.max', {
    text: plain,
    pointer: '/firstComment',
    what: 'The first comment',
    fix: 'Shorten the first comment.',
  })
  const pointer = '/firstComment'
  checkLinks(check, firstComment, { spans: spansOf(firstComment), pointer, link: undefined })
}

function checkTitle(check: Check, title: string): void {
  if (title === '') return
  const { media } = check.content
  const isOfImages = media.length > 0 && media.every(({ kind }) => kind !== 'video')
  const id = isOfImages && has(check, 'title.maxWithImages') ? 'title.maxWithImages' : 'title.max'
  if (has(check, id)) {
    checkLength(check, id, { text: title, pointer: '/title', what: 'The title', fix: 'Shorten the title.' })
  } else {
    const what = has(check, 'title.maxWithImages') ? 'titles of posts without images' : 'titles'
    warnUnused(check, 'title', what, 'Put the title into the text.')
  }
}

function checkRequired(check: Check): void {
  const { content, problems, title: platform } = check
  const isBlank = content.text.trim() === ''
  // A title or a link makes a post only where the platform publishes it.
  const hasTitle = (content.title ?? '').trim() !== '' && TITLES.some((id) => has(check, id))
  const hasLink = (content.link ?? '') !== '' && OF_LINKS.some((id) => has(check, id))
  if (isBlank && content.media.length === 0 && !hasTitle && !hasLink) {
    problems.push(
      general('content.empty', 'error', {
        pointer: '/text',
        message: 'The post is empty.',
        fix: 'Write a text, or add a file.',
      }),
    )
    return
  }
  const required = [
    ['text.required', isBlank, '/text', 'a text'],
    ['title.required', (content.title ?? '').trim() === '', '/title', 'a title'],
    ['media.required', content.media.length === 0, '/media', 'an image or a video'],
    ['video.required', content.media.every(({ kind }) => kind !== 'video'), '/media', 'a video'],
  ] as const
  for (const [id, isMissing, pointer, what] of required) {
    const limit = numericLimit(check, id)
    if (!isMissing || limit?.value !== 1) continue
    const message = `${platform} requires ${what}.`
    problems.push(breach(limit, { actual: 0, unit: what.replace(/^an? /, ''), pointer, message, fix: `Add ${what}.` }))
  }
}

function checkLink(check: Check): void {
  const { link = '' } = check.content
  if (link === '') return
  if (!/^https?:$/.test(URL.parse(link)?.protocol ?? '')) {
    check.problems.push(
      general('link.invalid', 'error', {
        pointer: '/link',
        actual: link,
        message: 'The link is not an http or https URL.',
        fix: 'Enter a URL that begins with https://.',
      }),
    )
    return
  }
  if (!OF_LINKS.some((id) => has(check, id)))
    return warnUnused(check, 'link', 'separate links', 'Put the link into the text.')
  const withMedia = numericLimit(check, 'link.withMedia')
  const { media, text } = check.content
  if (withMedia?.value === 0 && media.length > 0 && !text.includes(link)) {
    check.problems.push(
      breach(withMedia, {
        actual: 1,
        unit: 'links',
        pointer: '/link',
        message: `${check.title} has no links beside files.`,
        fix: 'Put the link into the text.',
      }),
    )
  }
  checkLength(check, 'link.max', { text: link, pointer: '/link', what: 'The link', fix: 'Use a shorter link.' })
}

function checkTags(check: Check, tags: readonly string[]): void {
  if (tags.length === 0) return
  if (!has(check, 'tags.max')) return warnUnused(check, 'tags', 'tags', 'Put them into the text as hashtags.')
  // Commas between tags and the quotes around a tag with spaces count, as at YouTube (Videos resource, snippet.tags).
  const text = tags.map((tag) => (tag.includes(' ') ? `"${tag}"` : tag)).join(',')
  checkLength(check, 'tags.max', { text, pointer: '/tags', what: 'The list of tags', fix: 'Remove some tags.' })
}
