/** The name of a post in notifications. */
export function postName({ content, title }: { readonly content: string; readonly title: string | null }): string {
  return title ?? content
}
