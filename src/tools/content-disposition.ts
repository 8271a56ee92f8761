/** A Content-Disposition value (RFC 6266) with an ASCII fallback name and the full name in UTF-8 (RFC 8187). */
export function contentDisposition(kind: 'inline' | 'attachment', name: string): string {
  // oxlint-disable-next-line no-control-regex -- the expression removes control characters
  const clean = name.replaceAll(/[\u0000-\u001F\u007F/\\]/g, '_') || 'file'
  const ascii = clean.replaceAll(/[^\u0020-\u007E]/g, '_').replaceAll(/["%]/g, '_')
  const encoded = encodeURIComponent(clean.toWellFormed()).replaceAll(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${ascii}"${ascii === clean ? '' : `; filename*=UTF-8''${encoded}`}`
}
