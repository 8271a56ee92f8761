/** HTML without its tags. */
export function withoutTags(html: string): string {
  // After the last bracket there are no tags, but each `<` would search the rest of the text for an end.
  const end = html.lastIndexOf('>') + 1
  return html.slice(0, end).replaceAll(/<[^>]*>/g, '') + html.slice(end)
}

/** Escapes text for HTML, including attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
