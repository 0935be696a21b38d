"""How a caption begins: caption words of several languages, forms of numbers, and how sentences go on instead."""

from __future__ import annotations

import re

FIGURE_WORDS = (
    r"(?:supplementary|supplemental|supp\.?|extended\s+data|appendix|online)?\s*"
    r"(?:figures?|figs?\s?\.|fig|fig[uú]ra|figuur|figur|abbildung|abb\s?\.|рисунок|рис\s?\.|rysunek|rys\s?\.|"
    r"obr[aá]zek|obr\s?\.|şekil|hình|kuva|图|圖|図|그림|plate|scheme|chart)"
)
TABLE_WORDS = (
    r"(?:(?:supplementary|extended\s+data)?\s*(?:tables?|tab\s?\.)|tabelle|tableau|tabla|tabela|"
    r"таблица|табл\s?\.|表|표)"
)
OTHER_WORDS = r"(?:algorithms?|alg\s?\.|listings?|pseudocode|exhibit|box)"
NUMBER = (
    r"(?:[A-Z]{1,2}[.\-–]?\s?)?\d{1,3}(?:\s?[.\-–]\s?\d{1,3})*"  # 3, A.1, S2, 3.1, 3-1
    r"(?:[a-z](?![A-Za-z])|\s[a-z](?=\s?[:.|]))?"  # 3a
    r"|[IVXL]{1,6}(?![A-Za-z])"
    r"|[A-Z](?:[.\-–]\d+)?(?![A-Za-z])"
)
BRACKETS = "]>〉》】"  # close a label such as "[Figure 3]"; a round one may belong to a sentence
SEPARATOR = rf"\s?(?:[{re.escape(BRACKETS)}][:：.．|｜]?|[:：.．|｜。—–\-)]+)(?=\s|$|\D)|\s+|$|(?=[\u2e80-\u9fff])"
START = re.compile(
    rf"^\s*[(\[<〈《【]?\s?(?P<word>(?i:(?P<figure>{FIGURE_WORDS})|(?P<table>{TABLE_WORDS})|(?P<other>{OTHER_WORDS})))"
    rf"[\s\u00a0~]*(?P<number>{NUMBER})(?P<sep>{SEPARATOR})"
)
SENTENCE = re.compile(  # "(left) shows that"
    r"^(?:\([^()]{1,30}\)\s)?(?:"
    r"(?:and|or|to|in|on|of|for|is|are|was|were|has|have|can|also|we|shows?|showing|illustrates?|presents?|depicts?|"
    r"displays?|plots?|gives?|compares?|reports?|provides?|summari[sz]es|demonstrates?|contains|indicates|reveals|"
    r"suggests|represents|describes|visuali[sz]es|confirms|highlights|lists|outlines|below|above|that|which|"
    r"the\s+(?:left|right)|zeigt|zeigen|stellt|ist|montre|illustre|présente|muestra|presenta|mostra|"
    r"показыва\w+|показан\w*|представл\w+|изображ\w+|приведен\w*|демонстриру\w+)\b|"
    r"(?:显示|顯示|展示|给出|給出|说明|說明|表明|描述|描绘|比较了|所示|中[，,的可]|是|は|に|を|から|より|では|のよう))"
)
SENTENCE_END = re.compile(r"(?:[^\W\d_]{4,}|[)\]\d])[)\]”\"'’]*[.!?:。]$")  # a shorter word may be abbreviated
