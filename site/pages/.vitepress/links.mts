// What the site makes of links to files of the repository that are no pages of it.
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

type Token = Parameters<MarkdownRenderer['renderer']['render']>[0][number];

const STORY = /^site\/playground\/stories\/([a-z-]+)\.toml$/;

/**
 * A story of the playground in a paragraph of its own is played there. Other files are linked to where
 * `source`, the address of the repository's files, is known; else only the text stays.
 */
export const links = (root: string, pages: string[], source: string | undefined) =>
  (markdown: MarkdownRenderer): void => {
    markdown.core.ruler.push('links', ({ tokens, env }) => {
      const file = (link: Token) => {
        const href = link.attrGet('href') ?? '';
        if (/^([a-z]+:|[#/])/.test(href)) return undefined;
        const path = join(dirname(env.path as string), decodeURI(href.split('#')[0]!));
        const name = relative(root, path);
        return existsSync(path) && !pages.includes(name) ? name : undefined;
      };
      tokens.forEach((token, at) => {
        const { children } = token;
        if (token.type !== 'inline' || !children) return;
        const story = children[0]?.type === 'link_open' ? STORY.exec(file(children[0]) ?? '')?.[1] : undefined;
        if (story !== undefined && children.at(-1)!.type === 'link_close') {
          token.type = 'html_block';
          token.content = `<Playground story="${story}">${markdown.utils.escapeHtml(children[1]!.content)}</Playground>`;
          tokens[at - 1]!.hidden = tokens[at + 1]!.hidden = true;
          return;
        }
        children.forEach((link, start) => {
          const name = link.type === 'link_open' ? file(link) : undefined;
          if (name === undefined) return;
          if (source !== undefined) return link.attrSet('href', `${source}/${name}`);
          const end = children.findIndex(({ type }, index) => index > start && type === 'link_close');
          for (const side of [link, children[end]!]) Object.assign(side, { type: 'text', tag: '', content: '', nesting: 0 });
        });
      });
    });
  };
