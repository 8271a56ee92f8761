/** Whether If-None-Match matches the tag: `*`, or a list that is compared weakly (RFC 9110, section 13.1.2). */
export function knows(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === tag)
}
