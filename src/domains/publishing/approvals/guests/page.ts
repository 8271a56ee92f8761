import { escapeHtml } from '../../../../core/html.ts'
import { htmlPage } from '../../../../core/html-page.ts'

/** A post as the page shows it. */
export interface ShownPost {
  readonly id: string
  readonly when: string
  readonly state: string
  readonly targets: readonly ShownTarget[]
  readonly history: readonly string[]
  readonly changes: readonly { readonly kind: 'equal' | 'insert' | 'delete'; readonly text: string }[]
  /** What a decision is bound to. Null if the guest cannot decide now. */
  readonly contentHash: string | null
}

export interface ShownTarget {
  readonly title: string
  readonly texts: readonly string[]
  readonly media: readonly { readonly url: string; readonly kind: string; readonly alt: string }[]
}

export const COOKIE = 'crier_guest'

const STYLE = `
  :root { color-scheme: light dark; }
  * { box-sizing: border-box; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
  article { border: 1px solid #8886; border-radius: .75rem; padding: 1rem; margin: 1rem 0; }
  .text { white-space: pre-wrap; }
  img, video { max-width: 100%; height: auto; border-radius: .5rem; }
  textarea, input, button { font: inherit; width: 100%; padding: .7rem; margin: .3rem 0; border-radius: .5rem; }
  button { cursor: pointer; min-height: 3rem; }
  ins { background: #2a83; } del { background: #c333; }
  [role=status] { border: 2px solid; border-radius: .5rem; padding: .7rem; }`

/**
 * A page for a guest. It has no scripts. `same-origin` keeps the token of the link from other servers, and still lets
 * the browser say where a form comes from.
 */
export function pageReply<S extends 200 | 400 | 403 | 404 | 409 | 429>(
  status: S,
  { body, cookie, title }: { title: string; body: string; cookie?: string | undefined },
) {
  return htmlPage(status, {
    title,
    tabTitle: `${title} – Crier`,
    body,
    style: STYLE,
    headers: {
      'Referrer-Policy': 'same-origin',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https:; media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      ...(cookie !== undefined && { 'Set-Cookie': cookie }),
    },
  })
}

export function notice(text: string): string {
  return `<p role="status">${escapeHtml(text)}</p>`
}

export function passcodeForm(formProof: string): string {
  return `<form method="post">
<input type="hidden" name="form" value="${escapeHtml(formProof)}">
<label>Passcode <input type="password" name="passcode" autocomplete="off" required></label>
<button>Open</button>
</form>`
}

export function postHtml(post: ShownPost, formProof: string): string {
  return `<article>
<h2>${escapeHtml(post.when)}</h2>
<p>${escapeHtml(post.state)}</p>
${post.targets.map(targetHtml).join('\n')}
${post.changes.length === 0 ? '' : `<h3>Changed since the last decision</h3><p class="text">${post.changes.map(runHtml).join('')}</p>`}
${post.history.length === 0 ? '' : `<h3>History</h3><ul>${post.history.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`}
${post.contentHash === null ? '' : formHtml(post.id, post.contentHash, formProof)}
</article>`
}

function targetHtml({ media, texts, title }: ShownTarget): string {
  const files = media.map(({ alt, kind, url }) =>
    kind === 'video'
      ? `<video controls preload="metadata" src="${escapeHtml(url)}" aria-label="${escapeHtml(alt)}"></video>`
      : kind === 'document'
        ? `<p>${escapeHtml(alt)}</p>`
        : `<img src="${escapeHtml(url)}" alt="${escapeHtml(alt)}">`,
  )
  const paragraphs = texts.map((text) => `<p class="text">${escapeHtml(text)}</p>`)
  return `<section><h3>${escapeHtml(title)}</h3>\n${[...paragraphs, ...files].join('\n')}</section>`
}

function runHtml({ kind, text }: ShownPost['changes'][number]): string {
  const safe = escapeHtml(text)
  return kind === 'equal' ? safe : kind === 'insert' ? `<ins>${safe}</ins>` : `<del>${safe}</del>`
}

function formHtml(id: string, contentHash: string, formProof: string): string {
  const fields = { form: formProof, post: id, seen: contentHash }
  const hidden = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  )
  return `<form method="post">
${hidden.join('\n')}
<label>Comment <textarea name="comment" rows="3" maxlength="2000"></textarea></label>
<button name="decision" value="approve">Approve</button>
<button name="decision" value="request_changes">Request changes</button>
<button name="decision" value="reject">Reject</button>
</form>`
}
