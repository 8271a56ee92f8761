/** Text as part of an address: lowercase letters and digits, with hyphens between words. Empty if there is none. */
export function slugOf(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 100)
    .replaceAll(/^-+|-+$/g, '')
}

/** The slug of a category. A name without Latin letters and digits is its own slug. */
export function categorySlug(name: string): string {
  const slug = slugOf(name)
  return slug === '' ? name.toLowerCase() : slug
}
