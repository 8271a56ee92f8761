/** Path of a profile picture. It needs no credential. Anyone with the URL can see the picture. */
export function pictureUrl(pictureId: string, size = 'medium'): string {
  return `/api/users/pictures/${pictureId}/${size}`
}
