import { escapeHtml } from '../src/tools/html.ts'
import type { SandboxPost } from './fake.ts'

/** The page of a fake, with the posts that were published there. */
export function postsPage(title: string, posts: readonly SandboxPost[]): string {
  const rows = posts.toReversed().map(
    ({ account, id, media, publishedAt, replyTo, text }) => `
<article>
  <h2>${escapeHtml(account)}</h2>
  <p>${escapeHtml(text)}</p>
  <p><small>${publishedAt} · ${escapeHtml(id)}${replyTo === null ? '' : ` · reply to ${escapeHtml(replyTo)}`}${
    media.length === 0 ? '' : ` · ${media.length} media`
  }</small></p>
</article>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox: ${escapeHtml(title)}</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }
  header { border: 2px dashed; padding: .5rem 1rem; }
  article { border-bottom: 1px solid #8886; }
  p { white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
</head>
<body>
<header>This is Crier’s sandbox, not ${escapeHtml(title)}. Nothing here is public.</header>
<h1>${escapeHtml(title)}</h1>
${rows.length === 0 ? '<p>Nothing was published yet.</p>' : rows.join('')}
</body>
</html>
`
}
