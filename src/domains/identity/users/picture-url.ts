/** Path of a profile picture. It needs no credential: anybody with the URL may see the picture. */
export function pictureUrl(pictureId: string, size = 'medium'): string {
  return `/api/users/pictures/${pictureId}/${size}`
}
