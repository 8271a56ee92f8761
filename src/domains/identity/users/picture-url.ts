/** Where a profile picture is, below the server. Whoever has the URL may see it: no header is needed. */
export function pictureUrl(pictureId: string, size = 'medium'): string {
  return `/api/users/pictures/${pictureId}/${size}`
}
