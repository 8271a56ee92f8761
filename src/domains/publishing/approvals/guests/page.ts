import { escapeHtml as e } from '../../../../tools/html.ts'
import { htmlPage } from '../../../../core/html-page.ts'
import type { Texts } from '../../../../language/texts.ts'

/** A post as the page shows it. */
export interface ShownPost {
  readonly id: string
  /** The first line of its text, for lists. */
  readonly name: string
  readonly when: string
  readonly state: string
  readonly isPublished: boolean
  readonly targets: readonly ShownTarget[]
  readonly history: readonly string[]
  /** What members say about it to guests. */
  readonly comments: readonly string[]
  readonly changes: readonly { readonly kind: 'equal' | 'insert' | 'delete'; readonly text: string }[]
  /** What a decision is bound to. Null if the guest cannot decide now. */
  readonly contentHash: string | null
  /** The guest's last decision that still counts, and what it is bound to. */
  readonly decided: string | null
  readonly decidedHash: string | null
}

/** A post that a guest can decide on now. */
export type WaitingPost = ShownPost & { readonly contentHash: string }

export interface ShownTarget {
  readonly title: string
  readonly texts: readonly string[]
  readonly media: readonly { readonly url: string; readonly kind: string; readonly alt: string }[]
}

/** How the pages for the guests of a workspace look. The domain of the branding provides it. */
export interface GuestBrand {
  /** Shown instead of the name of the workspace. */
  readonly name: string | null
  /** WebP in Base64. */
  readonly logo: string | null
  /** Colors as `#rrggbb`: for surfaces, for text on white, on a dark background, and upon a surface. */
  readonly colors: {
    readonly accent: string
    readonly text: string
    readonly onDark: string
    readonly upon: string
  }
}

export const COOKIE = 'crier_guest'

/** The most posts that wait for a guest on one page. All of them can be approved with one form. */
export const MAX_WAITING = 50

/** How many characters of the name of a post lists show. */
export const NAME_LENGTH = 60

const STYLE = `
  :root { color-scheme: light dark; --link: var(--accent-text); }
  @media (prefers-color-scheme: dark) { :root { --link: var(--accent-on-dark); } }
  * { box-sizing: border-box; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
  header { display: flex; align-items: center; gap: .75rem; padding-bottom: .75rem; border-bottom: 3px solid var(--accent); font-weight: 600; }
  header img { max-width: 6rem; max-height: 3rem; width: auto; border-radius: 0; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1.05rem; margin: 0; } h4 { font-size: 1rem; margin: 1rem 0 0; }
  article { border: 1px solid #8886; border-radius: .75rem; padding: 1rem; margin: 1rem 0; }
  .text { white-space: pre-wrap; }
  img, video { max-width: 100%; height: auto; border-radius: .5rem; }
  textarea, input, button, .button { font: inherit; width: 100%; padding: .7rem; margin: .3rem 0; border-radius: .5rem; }
  button, .button { cursor: pointer; min-height: 3rem; display: block; text-align: center; border: 1px solid #8889; text-decoration: none; color: inherit; }
  .main { background: var(--accent); color: var(--upon-accent); border-color: var(--accent); font-weight: 600; }
  a { color: var(--link); }
  summary { cursor: pointer; padding: .7rem 0; font-weight: 600; }
  li { margin: .5rem 0; }
  ins { background: #2a83; } del { background: #c333; }
  [role=status] { border: 2px solid; border-radius: .5rem; padding: .7rem; }`

interface GuestPage {
  readonly texts: Texts
  readonly title: string
  readonly body: string
  readonly cookie?: string | undefined
  /** Whose page it is. Absent for a link that does not work. */
  readonly from?: { readonly workspace: string; readonly brand: GuestBrand } | undefined
}

/**
 * A page for a guest. It has no scripts. `same-origin` keeps the token of the link from other servers, and still lets
 * the browser say where a form comes from.
 */
export function pageReply<S extends 200 | 400 | 403 | 404 | 409 | 429>(
  status: S,
  { body, cookie, from, texts, title }: GuestPage,
) {
  const { accent, onDark, text, upon } = from?.brand.colors ?? PLAIN
  const colors = `--accent:${accent};--accent-text:${text};--accent-on-dark:${onDark};--upon-accent:${upon}`
  const name = from?.brand.name ?? from?.workspace
  return htmlPage(status, {
    title,
    tabTitle: `${title} – ${name ?? 'Crier'}`,
    language: texts.language,
    body,
    ...(name !== undefined && { header: headerHtml(name, from?.brand.logo ?? null) }),
    style: `:root{${colors}}${STYLE}`,
    headers: {
      'Referrer-Policy': 'same-origin',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https:; media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      ...(cookie !== undefined && { 'Set-Cookie': cookie }),
    },
  })
}

const PLAIN: GuestBrand['colors'] = { accent: '#0b5cad', text: '#0b5cad', onDark: '#7fb7ee', upon: '#ffffff' }

function headerHtml(name: string, logo: string | null): string {
  // The name beside it says the same, so the picture has no text of its own.
  const picture = logo === null ? '' : `<img alt="" src="data:image/webp;base64,${e(logo)}">`
  return `<header>${picture}<span>${e(name)}</span></header>\n`
}

export function notice(text: string): string {
  return `<p role="status">${e(text)}</p>`
}

// The forms name `?` as their address, because the list has a query that only its GET takes.

export function passcodeForm(texts: Texts, formProof: string): string {
  return `<form method="post" action="?">
${hiddenFields({ form: formProof })}
<label>${e(texts.say('guestPage.passcode'))} <input type="password" name="passcode" autocomplete="off" required></label>
<button class="main">${e(texts.say('guestPage.open'))}</button>
</form>`
}

/** A button that leads back to the posts. */
export function backForm(texts: Texts): string {
  return `<form method="get"><button>${e(texts.say('guestPage.back'))}</button></form>`
}

/** What waits for the guest comes first, then what comes next. What was published is folded. */
export function postsHtml(texts: Texts, posts: readonly ShownPost[], formProof: string): string {
  const waiting = posts.filter(isWaiting)
  const later = posts.filter((post) => !isWaiting(post) && !post.isPublished)
  const published = posts.filter(({ isPublished }) => isPublished)
  const articles = (some: readonly ShownPost[]) => some.map((post) => postHtml(texts, post, formProof)).join('\n')
  const all =
    waiting.length > 1 ? `<a class="button" href="?view=approve_all">${e(texts.say('guestPage.approveAll'))}</a>\n` : ''
  return [
    ...(waiting.length === 0
      ? [notice(texts.say('guestPage.nothing'))]
      : [
          `<section><h2>${e(texts.say('guestPage.waiting', { count: waiting.length }))}</h2>\n${all}${articles(waiting)}</section>`,
          ...(waiting.length < MAX_WAITING ? [] : [`<p>${e(texts.say('guestPage.more', { count: MAX_WAITING }))}</p>`]),
        ]),
    ...(later.length === 0
      ? []
      : [`<section><h2>${e(texts.say('guestPage.later'))}</h2>\n${articles(later)}</section>`]),
    ...(published.length === 0
      ? []
      : [
          `<details><summary>${e(texts.say('guestPage.published', { count: published.length }))}</summary>\n${articles(published)}</details>`,
        ]),
  ].join('\n')
}

export function isWaiting(post: ShownPost): post is WaitingPost {
  return post.contentHash !== null
}

/** The list of posts that one button approves. Each is bound to what the guest has seen. */
export function approveAllHtml(texts: Texts, posts: readonly WaitingPost[], formProof: string): string {
  const listed = posts.map(({ contentHash, id, name }) => ['approve', [id, contentHash, name].join('.')] as const)
  return `<p>${e(texts.say('guestPage.askAll'))}</p>
<ol>${posts.map(({ name, targets, when }) => `<li><strong>${e(name)}</strong><br>${e(when)}<br>${e(targets.map(({ title }) => title).join(', '))}</li>`).join('\n')}</ol>
<form method="post" action="?">
${hiddenFields({ form: formProof })}
${listed.map(([name, value]) => hiddenField(name, value)).join('\n')}
<button class="main">${e(texts.say('guestPage.approveListed', { count: posts.length }))}</button>
</form>`
}

/** What became of each post of a list. */
export function outcomesHtml(outcomes: readonly { readonly name: string; readonly text: string }[]): string {
  return `<ul>${outcomes.map(({ name, text }) => `<li><strong>${e(name)}</strong><br>${e(text)}</li>`).join('\n')}</ul>`
}

function postHtml(texts: Texts, post: ShownPost, formProof: string): string {
  const { changes, comments, contentHash, history, id, state, targets, when } = post
  return `<article>
<h3>${e(when)}</h3>
<p>${e(state)}</p>
${targets.map(targetHtml).join('\n')}
${changes.length === 0 ? '' : `<h4>${e(texts.say('guestPage.changed'))}</h4><p class="text">${changes.map(runHtml).join('')}</p>`}
${history.length === 0 ? '' : `<h4>${e(texts.say('guestPage.history'))}</h4><ul>${history.map((line) => `<li>${e(line)}</li>`).join('')}</ul>`}
${comments.length === 0 ? '' : `<h4>${e(texts.say('guestPage.comments'))}</h4><ul>${comments.map((line) => `<li class="text">${e(line)}</li>`).join('')}</ul>`}
${contentHash === null ? '' : formHtml(texts, { id, contentHash }, formProof)}
</article>`
}

function targetHtml({ media, texts, title }: ShownTarget): string {
  const files = media.map(({ alt, kind, url }) =>
    kind === 'video'
      ? `<video controls preload="none" src="${e(url)}" aria-label="${e(alt)}"></video>`
      : kind === 'document'
        ? `<p>${e(alt)}</p>`
        : `<img loading="lazy" src="${e(url)}" alt="${e(alt)}">`,
  )
  const paragraphs = texts.map((text) => `<p class="text">${e(text)}</p>`)
  return `<section><h4>${e(title)}</h4>\n${[...paragraphs, ...files].join('\n')}</section>`
}

function runHtml({ kind, text }: ShownPost['changes'][number]): string {
  const safe = e(text)
  return kind === 'equal' ? safe : kind === 'insert' ? `<ins>${safe}</ins>` : `<del>${safe}</del>`
}

function formHtml(texts: Texts, { contentHash, id }: Pick<WaitingPost, 'id' | 'contentHash'>, formProof: string) {
  return `<form method="post" action="?">
${hiddenFields({ form: formProof, post: id, seen: contentHash })}
<label>${e(texts.say('guestPage.comment'))} <textarea name="comment" rows="3" maxlength="2000"></textarea></label>
<button class="main" name="decision" value="approve">${e(texts.say('guestPage.approve'))}</button>
<button name="decision" value="request_changes">${e(texts.say('guestPage.requestChanges'))}</button>
<button name="decision" value="reject">${e(texts.say('guestPage.reject'))}</button>
</form>`
}

function hiddenFields(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => hiddenField(name, value))
    .join('\n')
}

function hiddenField(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${e(value)}">`
}
