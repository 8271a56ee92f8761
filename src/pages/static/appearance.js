/**
 * Shows the page as its user has chosen in the settings `ui`, or as the browser prefers. `theme: 'system'` and comfortable
 * spacing are what the page has without a user.
 */
export function showAs({ density = 'comfortable', theme = 'system' } = {}) {
  const { dataset } = document.documentElement
  dataset.theme = theme
  dataset.density = density
}
