/** How many characters of a file name are kept. */
const MAX = 120

/** A file name without folders, control and bidirectional characters. At most 120 characters; the extension is kept. */
export function safeFileName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const clean = last.replace(/[\p{Cc}\p{Cf}<>:"|?*]/gu, '').replace(/^[.\s]+|(?<![.\s])[.\s]+$/g, '')
  if (clean === '') return 'file'
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(clean)?.[0] ?? ''
  return clean.slice(0, clean.length - ending.length).slice(0, MAX - ending.length) + ending
}
