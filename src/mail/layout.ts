import type { Mail } from './mailer.ts'

/** One block of a mail: a paragraph, a code to type, or a link. */
export type Block = string | { readonly code: string } | { readonly link: string; readonly label: string }

/** Renders a mail as text and as HTML for all mail programs: inline styles, no images. */
export function renderMail(to: string, subject: string, blocks: readonly Block[]): Mail {
  return { to, subject, text: renderText(blocks), html: renderHtml(subject, blocks) }
}

function renderText(blocks: readonly Block[]): string {
  return `${blocks.map(textOf).join('\n\n')}\n\n-- \nCrier\n`
}

function textOf(block: Block): string {
  if (typeof block === 'string') return block
  return 'code' in block ? `    ${block.code}` : `${block.label}:\n${block.link}`
}

function renderHtml(subject: string, blocks: readonly Block[]): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px;background:#f4f4f6;font:16px/1.5 system-ui,Segoe UI,Helvetica,Arial,sans-serif;color:#1c1c28">
<div style="max-width:520px;margin:0 auto;padding:32px;background:#ffffff;border-radius:12px">
${blocks.map(htmlOf).join('\n')}
</div>
<p style="max-width:520px;margin:16px auto 0;font-size:13px;color:#6b6b7b">Crier</p>
</body>
</html>
`
}

function htmlOf(block: Block): string {
  if (typeof block === 'string') return `<p style="margin:0 0 16px">${escapeHtml(block)}</p>`
  if ('code' in block) {
    return `<p style="margin:24px 0;font:700 32px/1 ui-monospace,Menlo,Consolas,monospace;letter-spacing:6px">${escapeHtml(block.code)}</p>`
  }
  const link = escapeHtml(block.link)
  return `<p style="margin:24px 0"><a href="${link}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#3b3bd6;color:#ffffff;text-decoration:none">${escapeHtml(block.label)}</a></p>
<p style="margin:0 0 16px;font-size:13px;color:#6b6b7b;word-break:break-all">${link}</p>`
}

/** Escapes texts of users (names, user agents) for HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)
}
